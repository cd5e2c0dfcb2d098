package redisconn

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/world-redis/world-redis/internal/quietconn"
)

// serversKept limits the addresses that are remembered; a cluster has a few dozen.
const serversKept = 1000

// servers are the addresses at which a Redis was reached: names in a setting may resolve to several addresses, and a
// Sentinel or a cluster adds more.
type servers struct {
	mu   sync.Mutex
	seen map[netip.AddrPort]struct{}

	dials atomic.Uint64
}

func (s *servers) note(conn net.Conn) {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return // a Unix socket
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= serversKept {
		s.seen = map[netip.AddrPort]struct{}{}
	}
	s.seen[at] = struct{}{}
}

// noting wraps a dial function and records the servers that it reaches.
func (s *servers) noting(dial quietconn.Dial) quietconn.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			s.dials.Add(1)
			s.note(conn)
		}
		return conn, err
	}
}

// Servers returns the addresses at which the Redis was reached so far.
func (c *Conn) Servers() []netip.AddrPort {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	return slices.Collect(maps.Keys(c.servers.seen))
}

// Dials counts the connections that were opened so far. While it does not change, every call went to the same master
// and the same Redis process; another one may lack earlier writes.
func (c *Conn) Dials() uint64 { return c.servers.dials.Load() }

// Hosts returns the hosts and ports in the address.
func (c *Conn) Hosts() []string { return c.hosts }
