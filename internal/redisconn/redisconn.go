// Package redisconn turns one address into a connection, in any of the four modes:
// embedded (no address), standalone, Sentinel and Cluster.
package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/quietconn"
)

// dialTimeout is what go-redis gives a dialer of its own if the address says nothing of it.
const dialTimeout = 5 * time.Second

// Mode is how the Redis behind a connection is run.
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
	Address string // for people: the password is hidden

	embedded *embedded
}

// Open connects and makes one real call, so that a wrong address fails here.
//
// The address is empty (embedded Redis in this process), redis:// or rediss:// with user,
// password and database as usual, unix://, or for the other modes
// redis+sentinel://[user:pass@]host:port[,host:port]/<db>?master=<name> and
// redis+cluster://[user:pass@]host:port[,host:port]; rediss+… is the same with TLS.
func Open(ctx context.Context, address string) (*Conn, error) {
	c, err := open(address)
	if err != nil {
		return nil, err
	}
	pingCtx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.Client.Ping(pingCtx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("no Redis answers at %s: %w", c.Address, err), c.Close())
	}
	return c, nil
}

func open(address string) (*Conn, error) {
	if address == "" {
		e, err := startEmbedded()
		if err != nil {
			return nil, err
		}
		opts := &redis.Options{Addr: e.server.Addr(), Password: e.password, ContextTimeoutEnabled: true}
		return &Conn{Client: redis.NewClient(opts), Mode: Embedded, Address: "embedded", embedded: e}, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the Redis address is no valid URL (is a special character in the password not percent-encoded?)")
	}
	scheme, mode, _ := strings.Cut(u.Scheme, "+")
	hidden := redacted(u)
	switch mode {
	case "":
		opts, err := redis.ParseURL(address)
		if err != nil {
			return nil, fmt.Errorf("the Redis address %s is not usable: %w", hidden, err)
		}
		opts.ContextTimeoutEnabled = true
		opts.Dialer = dialer(opts)
		return &Conn{Client: redis.NewClient(opts), Mode: Standalone, Address: hidden}, nil
	case "cluster", "sentinel":
		opts, err := universalOptions(u, scheme)
		if err != nil {
			return nil, fmt.Errorf("the Redis address %s is not usable: %w", hidden, err)
		}
		if mode == "cluster" {
			return &Conn{Client: redis.NewClusterClient(opts.Cluster()), Mode: Cluster, Address: hidden}, nil
		}
		if opts.MasterName == "" {
			return nil, fmt.Errorf("the Redis address %s names no master: add ?master=<name>", hidden)
		}
		return &Conn{Client: redis.NewFailoverClient(opts.Failover()), Mode: Sentinel, Address: hidden}, nil
	default:
		return nil, fmt.Errorf("the Redis address %s has an unknown scheme: use redis, rediss, unix, redis+sentinel or redis+cluster", hidden)
	}
}

// redacted is an address for people: the passwords in it are hidden, those among its options, too.
func redacted(u *url.URL) string {
	shown, query, hide := *u, u.Query(), false
	for name := range query {
		if strings.Contains(strings.ToLower(name), "pass") {
			query.Set(name, "xxxxx")
			hide = true
		}
	}
	if hide {
		shown.RawQuery = query.Encode()
	}
	return shown.Redacted()
}

// universalOptions reads the parts that several hosts share. The first host stands for
// all of them while go-redis parses user, password, database, TLS and query options.
func universalOptions(u *url.URL, scheme string) (*redis.UniversalOptions, error) {
	hosts := strings.Split(u.Host, ",")
	one := *u
	one.Scheme = scheme
	one.Host = hosts[0]
	query := one.Query()
	master := query.Get("master")
	query.Del("master")
	one.RawQuery = query.Encode()
	o, err := redis.ParseURL(one.String())
	if err != nil {
		return nil, err
	}
	return &redis.UniversalOptions{
		Addrs: hosts, MasterName: master, DB: o.DB, Username: o.Username, Password: o.Password,
		TLSConfig: o.TLSConfig, PoolSize: o.PoolSize, DialTimeout: o.DialTimeout,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, ContextTimeoutEnabled: true,
		Dialer: dialer(o),
	}, nil
}

// dialer dials as go-redis does by itself, which it is left to where there is TLS: nil.
func dialer(opts *redis.Options) quietconn.Dial {
	if opts.TLSConfig != nil {
		return nil
	}
	if opts.DialTimeout == 0 {
		opts.DialTimeout = dialTimeout
	}
	return quietconn.Dialer(redis.NewDialer(opts))
}

// Close closes the pool, and the embedded Redis with all its data if there is one.
func (c *Conn) Close() error {
	err := c.Client.Close()
	if c.embedded != nil {
		c.embedded.stop()
	}
	return err
}
