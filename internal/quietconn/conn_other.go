//go:build !linux || 386

package quietconn

import "net"

// Wrap returns c as it is. Elsewhere than on Linux a socket's reads and writes are not ours to make, and on a 386 they
// are no system calls of their own.
func Wrap(c net.Conn) net.Conn { return c }
