//go:build !linux

package quietconn

import "syscall"

// Unsent returns how many bytes that were written the other end has not acknowledged; 0 where that cannot be known.
func Unsent(syscall.Conn) int { return 0 }
