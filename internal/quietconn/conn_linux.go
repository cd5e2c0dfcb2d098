//go:build !386

package quietconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// Wrap makes the short reads and writes of a TCP connection quiet. It returns any other connection unchanged.
func Wrap(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	return &conn{TCPConn: tcp, raw: raw}
}

// conn is a TCP connection that makes its own reads and writes. Waiting, deadlines and closing go through raw.
type conn struct {
	*net.TCPConn
	raw syscall.RawConn
}

// transfer is one read or write. It is reused, because a closure would be allocated for each.
type transfer struct {
	p     []byte
	n     int
	errno syscall.Errno
	read  func(fd uintptr) bool
	write func(fd uintptr) bool
}

var transfers = sync.Pool{New: func() any {
	t := new(transfer)
	t.read, t.write = t.tryRead, t.tryWrite
	return t
}}

func (t *transfer) end() (int, syscall.Errno) {
	n, errno := t.n, t.errno
	t.p, t.n, t.errno = nil, 0, 0
	transfers.Put(t)
	return n, errno
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 || len(p) > longestRead {
		return c.TCPConn.Read(p)
	}
	t := transfers.Get().(*transfer)
	t.p = p
	err := c.raw.Read(t.read)
	n, errno := t.end()
	switch {
	case err != nil:
		return 0, named("read", err)
	case errno != 0:
		return 0, c.failure("read", errno)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) == 0 || len(p) > longestWrite {
		return c.TCPConn.Write(p)
	}
	t := transfers.Get().(*transfer)
	t.p = p
	err := c.raw.Write(t.write)
	n, errno := t.end()
	switch {
	case err != nil:
		return n, named("write", err)
	case errno != 0:
		return n, c.failure("write", errno)
	}
	return n, nil
}

// tryRead reads once; it returns false if there is nothing to read yet.
func (t *transfer) tryRead(fd uintptr) bool {
	n, errno := transferOnce(syscall.SYS_READ, fd, t.p)
	if errno == syscall.EAGAIN {
		return false
	}
	t.n, t.errno = n, errno
	return true
}

// tryWrite writes everything, or as much as fits; it returns false if the rest has to wait.
func (t *transfer) tryWrite(fd uintptr) bool {
	for t.n < len(t.p) {
		n, errno := transferOnce(syscall.SYS_WRITE, fd, t.p[t.n:])
		if errno == syscall.EAGAIN {
			return false
		}
		if errno != 0 {
			t.errno = errno
			return true
		}
		t.n += n
	}
	return true
}

func transferOnce(trap, fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		//nolint:gosec // a system call takes an address
		n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// failure returns the error that package net would have made of an errno.
func (c *conn) failure(op string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
}

// named gives an error of a raw read or write, such as a passed deadline or a closed connection, the operation name
// that package net uses: net/http depends on it.
func named(op string, err error) error {
	var opError *net.OpError
	if errors.As(err, &opError) {
		opError.Op = op
	}
	return err
}

// SyscallConn implements syscall.Conn. go-redis uses it before each command, to check whether Redis has closed the
// connection.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	return looked{c.raw}, nil
}

// looked skips the check of a connection that has nothing to read.
type looked struct{ syscall.RawConn }

// Read calls f like a RawConn if there is something to read, an end of file or an error. Otherwise it returns
// immediately without calling f.
func (l looked) Read(f func(fd uintptr) bool) error {
	var quiet bool
	err := l.RawConn.Read(func(fd uintptr) bool {
		quiet = nothingToRead(fd)
		return true
	})
	if err != nil || quiet {
		return err
	}
	return l.RawConn.Read(f)
}

func nothingToRead(fd uintptr) bool {
	var b [1]byte
	//nolint:gosec // a system call takes an address
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), 1,
		syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	return errno == syscall.EAGAIN
}
