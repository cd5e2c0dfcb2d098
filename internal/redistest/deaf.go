package redistest

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Deaf is a client that loses the answers to calls which contain a text: Redis carries them out, and then the connection breaks.
type Deaf struct {
	redis.UniversalClient
	Lose atomic.Int64 // how many answers to lose
	Lost func()       // is called before the caller gets the error
	text string
}

// NewDeaf returns a client on the Redis of a test. With again go-redis sends a call again, as it usually does.
func NewDeaf(t *testing.T, r *Redis, text string, again bool) *Deaf {
	t.Helper()
	d := &Deaf{text: text, Lost: func() {}}
	redirects, retries := 0, 0 // the defaults
	if !again {
		redirects, retries = -1, -1
	}
	switch original := r.Client.(type) {
	case *redis.ClusterClient:
		d.UniversalClient = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: original.Options().Addrs, ContextTimeoutEnabled: true, MaxRedirects: redirects, Dialer: d.dial,
		})
	case *redis.Client:
		d.UniversalClient = redis.NewClient(&redis.Options{
			Addr: original.Options().Addr, Password: original.Options().Password, ContextTimeoutEnabled: true, MaxRetries: retries, Dialer: d.dial,
		})
	}
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func (d *Deaf) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &deafConn{Conn: c, d: d}, nil
}

type deafConn struct {
	net.Conn
	d     *Deaf
	loses bool
}

func (c *deafConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.d.text)) && c.d.Lose.Add(-1) >= 0 {
		c.loses = true
	}
	return c.Conn.Write(b)
}

func (c *deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.loses || err != nil {
		return n, err
	}
	c.d.Lost()
	return 0, io.EOF
}
