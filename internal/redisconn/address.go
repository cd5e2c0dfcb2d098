package redisconn

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/idleconn"
	"github.com/world-redis/world-redis/internal/quietconn"
)

// dialTimeout is the default of go-redis's own dialer.
const dialTimeout = 5 * time.Second

// clientName is shown by CLIENT LIST for our connections, unless the address has a client_name.
const clientName = "world-redis"

// target is a parsed address.
type target struct {
	mode     Mode
	shown    string         // the address for display, without passwords
	hosts    []string       // of the server, the Sentinels or nodes of the cluster
	reached  *servers       // the servers that were dialled
	idle     *idleconn.Set  // the connections to them
	open     *conns         // connections to several hosts
	dial     quietconn.Dial // without registration in open
	plain    bool           // connections are not wrapped by quietconn
	snapshot *SnapshotFile  // of an embedded Redis
	options  *redis.Options // of a connection to Redis; its address is that of the first host

	master, sentinelUser, sentinelPassword string
}

// parse reads an address: redis:// or rediss:// with user, password, host, port and database, or unix://. The other modes are
//
//	redis+sentinel://[user:pass@]host:port[,host:port]/<db>?master=<name>[&sentinel_username=…][&sentinel_password=…]
//	redis+cluster://[user:pass@]host:port[,host:port]
//
// and rediss+sentinel, rediss+cluster with TLS. User and password are Redis's; Sentinels have their own. Options are in the
// query: those of go-redis (pool_size, read_timeout, skip_verify, …) and, with TLS, those of [tlsOptions].
func parse(address string, options ...Option) (*target, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the Redis address is not a valid URL (is a special character in the password not percent-encoded?)")
	}
	t := &target{shown: redacted(u), reached: &servers{}, idle: idleconn.New(), open: &conns{}}
	for _, option := range options {
		option(t)
	}
	scheme, mode, _ := strings.Cut(u.Scheme, "+")
	switch mode {
	case "":
		t.mode = Standalone
	case "cluster":
		t.mode = Cluster
	case "sentinel":
		t.mode = Sentinel
	default:
		return nil, fmt.Errorf("the Redis address %s has an unknown scheme: use redis, rediss, unix, redis+sentinel or redis+cluster", t.shown)
	}
	if err := t.read(u, scheme); err != nil {
		return nil, fmt.Errorf("the Redis address %s is not usable: %w", t.shown, err)
	}
	return t, nil
}

func (t *target) read(u *url.URL, scheme string) error {
	one, query := *u, u.Query()
	one.Scheme = scheme
	if t.mode != Standalone {
		// The first host stands for all of them while go-redis parses the rest.
		t.hosts = strings.Split(u.Host, ",")
		one.Host = t.hosts[0]
	}
	take := func(name string) string {
		value := query.Get(name)
		query.Del(name)
		return value
	}
	if t.mode == Sentinel {
		t.master, t.sentinelUser, t.sentinelPassword = take("master"), take("sentinel_username"), take("sentinel_password")
		if t.master == "" {
			return errors.New("it names no master: add ?master=<name>")
		}
	}
	files := tlsFiles{ca: take("tls_ca"), cert: take("tls_cert"), key: take("tls_key"), serverName: take("tls_server_name")}
	one.RawQuery = query.Encode()
	o, err := redis.ParseURL(one.String())
	if err != nil {
		return err
	}
	if t.mode == Cluster && o.DB != 0 {
		return fmt.Errorf("a cluster has only database 0, not %d", o.DB)
	}
	if o.TLSConfig == nil && files != (tlsFiles{}) {
		return errors.New("the options tls_… need TLS: use rediss://, rediss+sentinel:// or rediss+cluster://")
	}
	if o.TLSConfig != nil {
		if err := files.apply(o.TLSConfig, t.mode != Standalone); err != nil {
			return err
		}
	}
	if t.mode == Standalone {
		t.hosts = []string{o.Addr}
	}
	o.ContextTimeoutEnabled = true
	if o.ClientName == "" {
		o.ClientName = clientName
	}
	t.dial = dialer(o, t.reached, t.plain)
	o.Dialer = t.idle.Dialer(t.dial)
	if t.mode != Standalone {
		o.Dialer = t.open.tracking(o.Dialer)
	}
	t.options = o
	return nil
}

// universal returns the options for the nodes of a cluster, with everything that the address sets.
func (t *target) universal() *redis.UniversalOptions {
	o := t.options
	return &redis.UniversalOptions{
		Addrs: t.hosts, ClientName: o.ClientName, Protocol: o.Protocol, DB: o.DB, Username: o.Username, Password: o.Password,
		MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
		DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries, DialerRetryTimeout: o.DialerRetryTimeout,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MinIdleConns: o.MinIdleConns,
		MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns, MaxConcurrentDials: o.MaxConcurrentDials,
		PipelinePoolSize: o.PipelinePoolSize, PipelineReadBufferSize: o.PipelineReadBufferSize, PipelineWriteBufferSize: o.PipelineWriteBufferSize,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
		TLSConfig: o.TLSConfig, ContextTimeoutEnabled: true, Dialer: o.Dialer,
	}
}

// dialer dials like go-redis itself, and records the servers that it reaches. Only connections without TLS are quiet.
func dialer(opts *redis.Options, reached *servers, plain bool) quietconn.Dial {
	if opts.DialTimeout == 0 {
		opts.DialTimeout = dialTimeout
	}
	dial := reached.noting(redis.NewDialer(opts))
	if plain || opts.TLSConfig != nil {
		return dial
	}
	return quietconn.Dialer(dial)
}

// redacted returns an address for display: passwords are hidden, including those in its options.
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
