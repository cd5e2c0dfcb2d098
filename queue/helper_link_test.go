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

// link is a connection to Redis that a test can cut: for Redis and the other replicas its process is then dead.
type link struct {
	redis.UniversalClient
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newLink(t testing.TB, r *redistest.Redis) *link {
	t.Helper()
	w := &link{}
	switch original := r.Client.(type) {
	case *redis.ClusterClient:
		w.UniversalClient = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: original.Options().Addrs, ContextTimeoutEnabled: true, MaxRedirects: -1, DialerRetries: 1, Dialer: w.dial,
		})
	case *redis.Client:
		w.UniversalClient = redis.NewClient(&redis.Options{
			Addr: original.Options().Addr, Password: original.Options().Password, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, Dialer: w.dial,
		})
	}
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func (w *link) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errors.New("the link is cut")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err == nil {
		w.conns = append(w.conns, c)
	}
	return c, err
}

func (w *link) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, c := range w.conns {
		_ = c.Close() // some are closed already
	}
}

func (w *link) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
}
