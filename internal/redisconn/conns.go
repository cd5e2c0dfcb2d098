package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/world-redis/world-redis/internal/quietconn"
)

// errMute is why an address is not dialled. As an error of a dial it says that nothing was sent, so the call is made elsewhere.
var errMute = errors.New("did not answer recently, or is no longer a master")

// conns are the open connections, by the address that was dialled. One to a host that is gone, or to a Redis that stands
// still, never ends by itself: a call waits on it until a deadline, and a subscription for ever.
type conns struct {
	mu   sync.Mutex
	open map[*tracked]struct{}
	mute map[string]time.Time // addresses that are not dialled until then
}

// tracking wraps what dials a Redis.
func (c *conns) tracking(dial quietconn.Dial) quietconn.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if c.isMute(address) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s %w", address, errMute)}
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.track(conn, address), nil
	}
}

func (c *conns) track(conn net.Conn, address string) net.Conn {
	t := &tracked{Conn: conn, address: address, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*tracked]struct{}{}
	}
	c.open[t] = struct{}{}
	if sys, ok := conn.(syscall.Conn); ok {
		return trackedSocket{t, sys}
	}
	return t
}

// muteFor is how long an address is not dialled: until the next looks at the masters have asked it again, or nobody waits
// for it any more. Without that, those who wait for a place in its pool would dial it one after the other, and hang.
const muteFor = 2 * time.Second

// avoid closes the connections to the addresses of which that is said, and has them dialled by nobody for a while. The
// others may be dialled.
func (c *conns) avoid(stale func(address string) bool) {
	var closing []*tracked
	c.mu.Lock()
	for address := range c.mute {
		if !stale(address) {
			delete(c.mute, address)
		}
	}
	for t := range c.open {
		if !stale(t.address) {
			continue
		}
		closing = append(closing, t)
		if c.mute == nil {
			c.mute = map[string]time.Time{}
		}
		c.mute[t.address] = time.Now().Add(muteFor)
	}
	c.mu.Unlock()
	for _, t := range closing {
		_ = t.Close() // its caller gets an error, and closes it again
	}
}

// allow has an address dialled again.
func (c *conns) allow(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mute, address)
}

func (c *conns) isMute(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.mute[address]
	if ok && time.Now().After(until) {
		delete(c.mute, address)
		return false
	}
	return ok
}

// tracked is an open connection.
type tracked struct {
	net.Conn
	address string
	of      *conns
}

// Close implements net.Conn.
func (t *tracked) Close() error {
	t.of.mu.Lock()
	delete(t.of.open, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}

// NetConn is how go-redis finds the socket behind one with TLS.
func (t *tracked) NetConn() net.Conn { return t.Conn }

// trackedSocket is one without TLS: go-redis asks the socket whether Redis has closed it.
type trackedSocket struct {
	*tracked
	syscall.Conn
}

// Close implements net.Conn.
func (t trackedSocket) Close() error { return t.tracked.Close() }
