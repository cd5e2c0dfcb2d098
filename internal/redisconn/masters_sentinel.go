package redisconn

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/world-redis/world-redis/internal/quietconn"
)

// errReplaced ends a dial during which another master was found. As an error of a dial it says that nothing was sent.
var errReplaced = errors.New("another Redis became the master")

// sentinels say who the master is. All of them are asked at once, and all are listened to. The failover client of go-redis
// relies on the one Sentinel that it is connected to: one that hangs, perhaps on the machine of the master, holds up every
// new connection, and one that leads a failover reports the new master late. That client also leaves subscriptions where they are.
type sentinels struct {
	hosts   []string      // of the address
	name    string        // of the master
	options redis.Options // of a connection to a Sentinel
	node    redis.Options // of one to a Redis that may be the master
	open    *conns

	mu     sync.Mutex
	master string   // its address; "" until it has answered once
	others []string // Sentinels that those of the address know
}

func newSentinels(t *target) *sentinels {
	options := redis.Options{
		Dialer: t.dial, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, PipelinePoolSize: -1, Protocol: t.options.Protocol, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	s := &sentinels{hosts: t.hosts, name: t.master, options: options, node: options, open: t.open}
	s.options.Username, s.options.Password = t.sentinelUser, t.sentinelPassword
	s.node.Username, s.node.Password = t.options.Username, t.options.Password
	return s
}

// client returns a client of the master.
func (s *sentinels) client(t *target) *redis.Client {
	options := *t.options
	options.Addr = s.name
	options.Dialer = s.dialing(options.Dialer)
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(&options)
}

// dialing has the master dialled, whatever the address.
func (s *sentinels) dialing(dial quietconn.Dial) quietconn.Dial {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, err := s.address(ctx)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		conn, err := dial(ctx, network, address)
		if err == nil && s.replaced(address) {
			err = &net.OpError{Op: "dial", Net: network, Err: errors.Join(errReplaced, conn.Close())}
		}
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
}

// address returns the address of the master that answered last. A look finds its successor. Until one has answered, the
// Sentinels are asked each time.
func (s *sentinels) address(ctx context.Context) (string, error) {
	s.mu.Lock()
	master := s.master
	s.mu.Unlock()
	if master != "" {
		return master, nil
	}
	return s.ask(ctx)
}

// replaced says whether a master other than that at the address is known.
func (s *sentinels) replaced(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.master != "" && s.master != address
}

// look finds the master, and closes connections to all others once it answers as one: they may answer for a while as well,
// and lose what is written to them.
func (s *sentinels) look(ctx context.Context) (settled bool) {
	address, err := s.ask(ctx)
	if err != nil || !s.answers(ctx, address) {
		return false
	}
	s.open.allow(address)
	s.mu.Lock()
	s.master = address // first, for a dial that is under way is either seen by avoid or sees this
	s.mu.Unlock()
	s.open.avoid(func(other string) bool { return other != address })
	return true
}

func (s *sentinels) answers(ctx context.Context, address string) bool {
	options := s.node
	options.Addr = address
	node := redis.NewClient(&options)
	defer context.AfterFunc(ctx, func() { _ = node.Close() })() // that a call under way ends
	defer func() { _ = node.Close() }()                         // it has asked what it had to
	return isMaster(ctx, node)
}
