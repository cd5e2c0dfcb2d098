// Package quietconn wraps connections so that short reads and writes are system calls that Go's scheduler does not
// track.
//
// Go tracks each system call, because it may block: a thread of the runtime, sysmon, checks every 20 µs and lends the
// processor to other goroutines. It sleeps while a process is idle, and the first system call of each burst of work
// wakes it. So a service with one caller at a time pays for it in each call: two more threads that wake each other, a
// fifth of its CPU (docs/performance.md, "What was tried"). A read or write of a socket does not block, because Go's
// sockets are in non-blocking mode and wait in the poller. A short one is over long before sysmon would check. Long
// ones are tracked as usual, so that other goroutines can run meanwhile. They wake sysmon, and so does everything
// else that the scheduler tracks, such as a log line; sysmon also interrupts long computations, such as those on a
// large payload.
package quietconn

import (
	"context"
	"net"
)

// Longer reads and writes than these, in bytes, are tracked by the scheduler. A reader's buffer says little about the
// amount of data, and reading is cheaper than writing, which wakes the other side.
const (
	longestRead  = 1 << 20
	longestWrite = 64 << 10
)

// Dial is a dial function.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer wraps the connections that dial returns, see [Wrap].
func Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return Wrap(c), nil
	}
}
