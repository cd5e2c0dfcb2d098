// Package redisconn connects to Redis by one address, in any of the four modes: embedded (no address), standalone,
// Sentinel and Cluster.
package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/idleconn"
	"github.com/world-redis/world-redis/internal/replicated"
)

// Mode is how the Redis behind a connection runs.
type Mode string

// The modes.
const (
	Embedded   Mode = "embedded"
	Standalone Mode = "standalone"
	Sentinel   Mode = "sentinel"
	Cluster    Mode = "cluster"
)

// Conn is an open connection pool.
type Conn struct {
	Client  redis.UniversalClient
	Mode    Mode
	Address string // for display, without the password
	// Replicas is how many replicas confirm the writes of marked calls; see [Conn.Confirm].
	Replicas replicated.Durability

	readTimeout time.Duration // of a command, if the address sets it
	embedded    *embedded
	masters     *masters // for a cluster or Sentinels; otherwise nil
	servers     *servers
	idle        *idleconn.Set // nil for the embedded Redis
	hosts       []string
}

// Open connects and makes one call, so that a wrong address fails here. See [parse] for the addresses.
func Open(ctx context.Context, address string) (*Conn, error) {
	c, err := Connect(address)
	if err != nil {
		return nil, err
	}
	if err := c.Ping(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Ping makes one call, within five seconds.
func (c *Conn) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.ping(ctx); err != nil {
		return fmt.Errorf("no Redis answers at %s: %w", c.Address, err)
	}
	return nil
}

// ping asks the server, or the masters of a cluster, at least one of which has to answer.
func (c *Conn) ping(ctx context.Context) error {
	cluster, ok := c.Client.(*redis.ClusterClient)
	if !ok {
		return c.Client.Ping(ctx).Err()
	}
	var answers atomic.Bool
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		err := node.Ping(ctx).Err()
		if err == nil {
			answers.Store(true)
		}
		return err
	})
	if answers.Load() {
		return nil
	}
	return err
}

// LacksNodes reports whether an error is due to a node of a cluster that cannot be reached while another one answers.
// The cluster is running, and the node's replica or an operator brings the node back.
func (c *Conn) LacksNodes(ctx context.Context, err error) bool {
	var answer redis.Error
	return err != nil && ctx.Err() == nil && c.Mode == Cluster && !errors.As(err, &answer) && c.Ping(ctx) == nil
}

// NotReady reports whether Redis is running and will accept commands later: it is loading its data, waits for its
// master or for a script to end, or is a cluster that has not agreed on its masters.
func NotReady(err error) bool {
	var answer redis.Error
	return redis.IsLoadingError(err) || redis.IsMasterDownError(err) || redis.IsClusterDownError(err) || redis.IsTryAgainError(err) ||
		errors.As(err, &answer) && strings.HasPrefix(answer.Error(), "BUSY ")
}

// Option is an option of a connection.
type Option func(*target)

// Quiet selects whether connections are wrapped by [quietconn]; by default they are.
func Quiet(on bool) Option { return func(t *target) { t.plain = !on } }

// Connect is [Open] without the call: it does not check that there is a Redis at the address.
func Connect(address string, options ...Option) (*Conn, error) {
	if address == "" {
		t := &target{}
		for _, option := range options {
			option(t)
		}
		e, err := startEmbedded(t.snapshot)
		if err != nil {
			return nil, err
		}
		opts := &redis.Options{Addr: e.server.Addr(), Password: e.password, ContextTimeoutEnabled: true}
		return &Conn{Client: redis.NewClient(opts), Mode: Embedded, Address: "embedded", embedded: e, servers: &servers{}, hosts: []string{opts.Addr}}, nil
	}
	t, err := parse(address, options...)
	if err != nil {
		return nil, err
	}
	c := &Conn{Mode: t.mode, Address: t.shown, servers: t.reached, hosts: t.hosts, idle: t.idle, readTimeout: t.options.ReadTimeout}
	t.idle.Watch()
	switch t.mode {
	case Cluster:
		client := newClusterClient(t)
		c.Client, c.masters = client, watchMasters(client, clusterMasters(client, t.open))
	case Sentinel:
		s := newSentinels(t)
		client := s.client(t)
		c.Client, c.masters = client, watchMasters(client, s.look, s.listen)
	default:
		c.Client = redis.NewClient(t.options)
	}
	return c, nil
}

// Close closes the pool, and the embedded Redis if there is one; its data is lost unless it has a [Snapshot].
func (c *Conn) Close() error {
	if c.masters != nil {
		c.masters.close()
	}
	err := c.Client.Close()
	if c.idle != nil {
		c.idle.Close()
	}
	if c.embedded != nil {
		err = errors.Join(err, c.embedded.stop())
	}
	return err
}
