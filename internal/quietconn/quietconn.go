// Package quietconn has connections whose short reads and writes are system calls that Go's scheduler is not told of.
//
// Go follows each system call, since it may block, in order to lend the processor to other goroutines meanwhile: a
// thread of the runtime, sysmon, looks every 20 µs. It sleeps while a process has nothing to do, and the first system
// call of each burst of work wakes it. So a service with one caller at a time pays for that in each of its calls: two
// more threads that wake each other, a fifth of its CPU (docs/performance.md, "What was tried"). A read or write of a
// socket does not block, for Go's sockets are in non-blocking mode and wait in the poller; a short one is over long
// before sysmon would have looked. Long ones are made as ever, so that others may work while they last. They wake sysmon,
// and so does whatever else the scheduler is told of, such as a line in the log: it is there to interrupt who computes
// for long, as one does with a large payload.
package quietconn

import (
	"context"
	"net"
)

// Longer reads and writes than these, in bytes, are told to the scheduler. A reader's buffer says little of what comes,
// and what is read costs less to copy than what is written, which wakes somebody.
const (
	longestRead  = 1 << 20
	longestWrite = 64 << 10
)

// Dial is what dials.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer wraps what dial returns, see [Wrap].
func Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return Wrap(c), nil
	}
}
