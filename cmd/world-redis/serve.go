package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/quietconn"
	"github.com/world-redis/world-redis/internal/redisconn"
)

// drainGrace is how long requests of the API may continue after the last delivery has ended.
const drainGrace = 10 * time.Second

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: "Runs the service until SIGTERM or Ctrl-C. Without configuration it keeps its data in an embedded\n" +
			"Redis that is lost on exit; set WORKFLOW_REDIS_URL to keep it. `world-redis env` lists the settings.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, unknown, err := loadConfig(os.Environ())
			if err != nil {
				return err
			}
			logger := newLogger(cmd.ErrOrStderr(), c)
			setRedisLog(logger)
			defer collectLater()()
			slices.Sort(unknown)
			for _, name := range unknown {
				logger.Warn("unknown setting, ignored: misspelt? see `world-redis env`", slog.String("variable", name))
			}
			sayProxy(c, os.Getenv, logger)
			return serve(cmd.Context(), c, logger, cmd.OutOrStdout(), leaveProcessors)
		},
	}
}

// host is what runs the service, if it is not the command serve.
type host struct {
	connection []redisconn.Option
	connected  []func(*redisconn.Conn) // called once Redis answers
	redirect   func(address string) (string, error)
	// started is called once the API listens.
	started func(api *httpapi.Server, conn *redisconn.Conn, tenants []*tenant)
}

// serve runs the service as a command does, which prints how to connect an app.
func serve(ctx context.Context, c config, logger *slog.Logger, out io.Writer, connected ...func(*redisconn.Conn)) error {
	started := func(api *httpapi.Server, conn *redisconn.Conn, _ []*tenant) { announce(out, api, conn, c) }
	return serveFor(ctx, c, logger, host{connected: connected, started: started})
}

// serveFor builds the parts, runs them until ctx ends, and stops them in order. First the queue stops claiming messages
// and running deliveries end; they need the API to report their results. Then the API drains, and then what the API
// reads from stops.
func serveFor(ctx context.Context, c config, logger *slog.Logger, h host) (err error) {
	fast, err := parseFastPaths(c.FastPaths)
	if err != nil {
		return err
	}
	conn, err := redisconn.Connect(c.RedisURL, append(h.connection, redisconn.Quiet(fast.has(quietConns)))...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.Confirm(c.Durability, c.KeyPrefix+"replicated:"); err != nil {
		return fmt.Errorf("WORKFLOW_WORLD_DURABILITY: %w", err)
	}
	if err := awaitRedis(ctx, conn, c, logger); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	for _, f := range h.connected {
		f(conn)
	}
	policy, err := c.dialPolicy()
	if err != nil {
		return err
	}
	forbidRedis(policy, conn)
	policy.Redirect(h.redirect)
	clock := world.SystemClock{}
	var tenants []*tenant
	err = whileReady(ctx, conn, c, logger, func() (err error) {
		if err := checkRedis(ctx, conn, c, logger); err != nil {
			return err
		}
		tenants, err = newTenants(ctx, conn, policy, c, clock, logger)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	warnOfMissingKey(c, logger)
	authorities, err := c.appCAs()
	if err != nil {
		return err
	}
	proxy, err := httpproxy.Parse(c.Proxy)
	if err != nil {
		return err
	}
	minter := ids.NewMinter(clock)
	stats := newMetrics(tenants, logger)
	api, err := httpapi.New(httpapi.Config{
		Listen: c.Listen, Version: version, Tokens: c.tokens(), MetricsTokens: splitList(c.MetricsToken, ","), MetricsListen: c.MetricsListen,
		BaseURL: c.BaseURL, MaxBody: c.MaxBody, Memory: c.memory(), MaxConnections: c.maxConnections(),
		NoBundles: !fast.has(bundles), NoCallSockets: !fast.has(callSockets), Logger: logger, DrainGrace: drainGrace, AppCAs: authorities,
		AppProxy: policy.Proxy(proxy), AppDial: policy.Dial(&net.Dialer{Timeout: webhookDialTimeout}),
		Ready: newReadiness(ctx, conn, tenants, logger).check, Conns: callerConns(fast),
		Metrics: stats.handler(), Observe: stats.observe, NewRequestID: func() string { return minter.New().String() },
	}, tenants[0].deps(), forAPI(tenants)...)
	if err != nil {
		return err
	}
	forbidListener(policy, api.Addr)
	forbidListener(policy, api.MetricsAddr)
	return runParts(ctx, parts{
		api:     api.Run,
		queue:   together(tenants, (*tenant).deliver),
		streams: together(tenants, func(t *tenant, ctx context.Context) error { return t.streams.Run(ctx) }),
		store:   together(tenants, (*tenant).background),
	}, func() {
		h.started(api, conn, tenants)
	}, api.Listening())
}

// callerConns returns the wrapper for callers' connections; nil leaves them unchanged.
func callerConns(fast fastPaths) func(net.Conn) net.Conn {
	if !fast.has(quietConns) {
		return nil
	}
	return quietconn.Wrap
}

type parts struct{ api, queue, streams, store func(context.Context) error }

// runParts runs until ctx ends or a part fails. Each layer has its own context, which ends when the layer above has
// stopped.
func runParts(ctx context.Context, p parts, started func(), listening <-chan struct{}) error {
	apiCtx, stopAPI := context.WithCancel(context.WithoutCancel(ctx))
	baseCtx, stopBase := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPI()
	defer stopBase()
	g, groupCtx := errgroup.WithContext(ctx)

	g.Go(func() error {
		defer stopAPI()
		return p.queue(groupCtx)
	})
	g.Go(func() error {
		defer stopBase()
		return p.api(apiCtx)
	})
	g.Go(func() error { return p.streams(baseCtx) })
	g.Go(func() error { return p.store(baseCtx) })
	g.Go(func() error {
		select {
		case <-listening:
			started()
		case <-groupCtx.Done():
		}
		return nil
	})
	// A part that fails must end the others, too, even those that wait for a layer above.
	g.Go(func() error {
		<-groupCtx.Done()
		if ctx.Err() == nil {
			stopAPI()
			stopBase()
		}
		return nil
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// announce prints what is needed to connect an app.
func announce(out io.Writer, api *httpapi.Server, conn *redisconn.Conn, c config) {
	at := printedURL(c.Listen, api.Addr())
	text := fmt.Sprintf("world-redis listens on %s, Redis: %s\n", at, conn.Address)
	if everywhere(c.Listen) {
		text += "It listens on every address of this machine; others reach it by its name or address.\n"
	}
	if addr := api.MetricsAddr(); addr != "" {
		text += fmt.Sprintf("metrics are at %s/metrics\n", printedURL(c.MetricsListen, addr))
	}
	if conn.Mode == redisconn.Embedded {
		text += "NOTE: embedded Redis, in memory: ALL DATA IS LOST AT EXIT. Set WORKFLOW_REDIS_URL to keep it.\n"
	}
	text += fmt.Sprintf("\nPut these lines into the environment of your app:\n\n  WORKFLOW_TARGET_WORLD=@world-redis/client\n  WORKFLOW_WORLD_URL=%s\n", at)
	if len(c.tokens()) > 0 || c.Namespaces != "" {
		text += "  WORKFLOW_WORLD_TOKEN=<the token>\n"
	}
	text += "\n"
	_, _ = io.WriteString(out, text) // a closed stdout must not stop the service
}
