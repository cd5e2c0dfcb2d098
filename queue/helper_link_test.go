package queue_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// link is a connection to Redis that a test can cut: to Redis and to other replicas its
// process is dead then.
type link struct {
	redis.UniversalClient
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newLink(t testing.TB, r *redistest.Redis) *link {
	t.Helper()
	l := &link{}
	switch original := r.Client.(type) {
	case *redis.ClusterClient:
		l.UniversalClient = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: original.Options().Addrs, ContextTimeoutEnabled: true, MaxRedirects: -1, DialerRetries: 1, Dialer: l.dial,
		})
	case *redis.Client:
		l.UniversalClient = redis.NewClient(&redis.Options{
			Addr: original.Options().Addr, Password: original.Options().Password, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, Dialer: l.dial,
		})
	}
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func (l *link) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errors.New("the link is cut")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, c := range l.conns {
		_ = c.Close() // some are closed already
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}
