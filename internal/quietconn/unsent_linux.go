package quietconn

import (
	"syscall"
	"unsafe"
)

// Unsent returns how many written bytes the other end has not acknowledged; 0 if that cannot be known.
func Unsent(c syscall.Conn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var n int32
	_ = raw.Control(func(fd uintptr) {
		//nolint:gosec // a system call takes an address
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	})
	return int(n)
}
