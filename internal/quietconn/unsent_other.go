//go:build !linux

package quietconn

import "syscall"

// Unsent returns how many written bytes the other end has not acknowledged; 0 if that cannot be known.
func Unsent(syscall.Conn) int { return 0 }
