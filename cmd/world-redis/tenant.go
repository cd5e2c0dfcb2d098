package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive"
	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/dialpolicy"
	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/leader"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/recovery"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redismemory"
	"github.com/world-redis/world-redis/internal/replicated"
	"github.com/world-redis/world-redis/internal/rollback"
	"github.com/world-redis/world-redis/queue"
	"github.com/world-redis/world-redis/storage"
	"github.com/world-redis/world-redis/streaming"
)

// parkAfter is the most time from an acknowledged delivery until its run is parked. It is much shorter than the time
// after which recovery checks for forgotten runs.
const parkAfter = 5 * time.Second

// tenant is one namespace with its own store, streams and queue. Tenants share only the Redis: each has its own keys,
// queues and deliveries.
type tenant struct {
	namespace
	store      *storage.Store
	streams    *streaming.Service
	queue      *queue.Queue
	send       *luascript.Runner // of the queue, and of what is sent together with its messages
	reconciler *recovery.Reconciler
	parker     *recovery.Parker
	lease      *leader.Lease // decides which replica sweeps and wakes forgotten runs
	apps       *appCheck
	observer   *queueMetrics
	woken      atomic.Int64 // number of runs woken by the reconciler
	replicated bool         // replicas confirm acknowledged writes
	clustered  bool         // calls with different hash tags are not sent together
	fast       fastPaths
	format     *formatClaim
	answered   world.Store           // the store, for the API; it records what it answered
	lost       *rollback.Watcher     // of all namespaces, in the first tenant; nil in the others
	memory     *redismemory.Recorder // of Redis, for all namespaces, in the first tenant; nil in the others
	clock      world.Clock
	builds     *builds         // says whether runs may be removed
	archive    world.Archive   // of runs that have left Redis; nil: there is none
	keeper     *archive.Keeper // copies runs into it
	log        *slog.Logger
}

func newTenant(ctx context.Context, conn *redisconn.Conn, bell *doorbell.Bell, policy *dialpolicy.Policy, c config, n namespace, clock world.Clock, logger *slog.Logger) (*tenant, error) {
	if n.name != "" {
		logger = logger.With(slog.String("namespace", n.name))
	}
	fast, err := parseFastPaths(c.FastPaths)
	if err != nil {
		return nil, err
	}
	t := &tenant{namespace: n, clock: clock, observer: newQueueMetrics(), log: logger, fast: fast, clustered: conn.Mode == redisconn.Cluster, replicated: conn.Replicas > 0}
	t.builds = &builds{log: logger, replicas: func(ctx context.Context) ([]queue.Replica, error) { return t.queue.Replicas(ctx) }}
	t.format = &formatClaim{client: conn.Client, prefix: n.keyPrefix, every: formatEvery, logger: logger}
	if _, err := t.format.claim(ctx); err != nil {
		return nil, err
	}
	t.lease, err = leader.New(ctx, conn.Client, leader.Config{Prefix: n.keyPrefix, Bell: bell, Clock: clock, Logger: logger})
	if err != nil {
		return nil, err
	}
	t.streams, err = streaming.New(ctx, conn.Client, streaming.Config{
		Prefix: n.keyPrefix, Clock: clock, Logger: logger, Bell: bell, Runs: t, Steps: t, Quiet: c.StreamQuiet, Dials: conn.Dials,
	})
	if err != nil {
		return nil, err
	}
	retention, err := c.retention()
	if err != nil {
		return nil, err
	}
	if err := t.openArchive(ctx, c); err != nil {
		return nil, err
	}
	t.store, err = storage.New(ctx, conn.Client, storage.Config{
		Prefix: n.keyPrefix, Clock: clock, Logger: logger, Bell: bell, HookRetention: c.HookRetention, RemovedFor: c.RemovedFor, Leadership: t.lease, Dials: conn.Dials,
		PurgeStreams: t.streams.PurgeRun, ExpectPurge: t.streams.ExpectPurge,
		RemoveStreams: t.streams.RemoveRuns, RemoveMessages: func(ctx context.Context, runIDs []string) error { return t.queue.RemoveRuns(ctx, runIDs) },
		Retention: retention, ArchiveOwnRetention: c.ArchiveOwn, Archive: t.keep(), ArchiveAfter: t.archiveAfter(c),
		MayRemove:         t.builds.mayRemove,
		Pressure:          c.Pressure.pressure(conn.Client),
		NoSharedPipelines: !fast.has(pipelines),
	})
	if err != nil {
		return nil, err
	}
	authorities, err := c.appCAs()
	if err != nil {
		return nil, err
	}
	proxy, err := httpproxy.Parse(c.Proxy)
	if err != nil {
		return nil, err
	}
	forwarder := embedded.New(embedded.Config{
		Logger: logger, SigningKeys: n.signingKeys, Clock: clock, AppCAs: authorities, Proxy: proxy, Policy: policy,
		Preload: t.preloader(), NoQuietConns: !fast.has(quietConns),
	})
	// On a cluster, a run and the queue are on different nodes.
	preload := t.preloadWithClaim
	if t.clustered {
		preload = nil
	}
	t.parker = recovery.NewParker(t.store, recovery.ParkerConfig{After: min(parkAfter, c.RecoveryAfter/4), Clock: clock, Logger: logger, Masters: conn.ReplicationIDs})
	t.send = luascript.RunnerFor(conn.Client, !fast.has(pipelines))
	t.queue, err = queue.New(ctx, conn.Client, queue.Config{
		Runner: t.send, Version: version,
		KeyPrefix: n.keyPrefix, JobPrefix: n.jobPrefix, FlowConcurrency: c.FlowConcurrency, StepConcurrency: c.StepConcurrency,
		ShutdownGrace: c.ShutdownGrace, BaseURL: n.baseURL, MayCall: policy.Check, Clock: clock, Logger: logger, Bell: bell, Observer: t.observer, RunDead: t.runDead,
		AppConcurrency: c.AppConcurrency, Policy: c.DeploymentPolicy, Patience: c.DeploymentPatience,
		Deliverer: forwarder, Preload: preload, LookedAt: t.parker.LookedAt, Backoff: queue.Backoff{CrashesMost: c.MaxCrashes},
		Stray: t.stray, Late: t.late, Relieved: t.lease.Relieved,
	})
	if err != nil {
		return nil, err
	}
	probe := appProbe{check: forwarder.Check, who: forwarder.Probe, mayCall: policy.Check, hasToken: len(n.tokens) > 0, own: ownAddresses}
	t.apps = newAppCheck(t.queue, probe.look, t.queue, logger)
	if n.baseURL != "" {
		t.apps.look(checkTask{registration: registration{App: world.App{BaseURL: n.baseURL}}}, false)
	}
	t.reconciler = recovery.New(t.store, t.queue, recovery.Config{
		Leadership: t.lease, Grace: c.RecoveryAfter, Clock: clock, Logger: logger, Masters: conn.ReplicationIDs, Woken: func() { t.woken.Add(1) },
	})
	return t, nil
}

// runDead fails the run of a message that is given up.
func (t *tenant) runDead(ctx context.Context, m world.Message, why queue.Death, reason string) error {
	code, sentence := recovery.CodeUndeliverable, "A message of this run could not be delivered: "+reason
	switch why {
	case queue.NoApp:
		code = recovery.CodeDeploymentGone
	case queue.Fatal:
		sentence = reason
	case queue.TooLarge:
		code, sentence = recovery.CodeTooLarge, "A value of this run is too large: "+reason
	}
	return recovery.Failer{Store: t.store}.FailRun(ctx, m.RunID, code, sentence)
}

// stray handles a message that an app refused, and whose run or step may not exist.
func (t *tenant) stray(ctx context.Context, messageID string, m world.Message) (reason string, err error) {
	return recovery.Strays{Store: t.store, Queue: t.queue}.Settle(ctx, messageID, m)
}

// late handles a message that may be for a run that has been removed.
func (t *tenant) late(ctx context.Context, m world.Message) (reason string, err error) {
	return recovery.Strays{Store: t.store}.Late(ctx, m)
}

// RunEnds implements world.RunEnds for the streams, which are created before the store.
func (t *tenant) RunEnds(ctx context.Context, runIDs []string) ([]world.RunEnd, error) {
	return t.store.RunEnds(ctx, runIDs)
}

// FindSteps implements world.StepFinder for the streams.
func (t *tenant) FindSteps(ctx context.Context, refs []world.StepRef) ([]world.StepPresence, error) {
	return t.store.FindSteps(ctx, refs)
}

// deliver delivers messages, and leads if this replica is the leader. Both stop first: a stopping replica no longer
// serves the queues, so another one has to lead.
func (t *tenant) deliver(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.lease.Run(ctx) })
	g.Go(func() error { return t.queue.Run(ctx) })
	return g.Wait()
}

// background does the work besides requests and deliveries: repairing, waking forgotten runs, and checking the apps'
// addresses.
func (t *tenant) background(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.store.Run(ctx) })
	g.Go(func() error { return t.reconciler.Run(ctx) })
	g.Go(func() error { return t.parker.Run(ctx) })
	g.Go(func() error { return t.apps.Run(ctx) })
	g.Go(func() error { return t.format.Run(ctx) })
	if t.lost != nil {
		g.Go(func() error { return t.lost.Run(ctx) })
	}
	if t.memory != nil {
		g.Go(func() error { return t.memory.Run(ctx) })
	}
	return errors.Join(g.Wait(), t.closeArchive())
}

func newTenants(ctx context.Context, conn *redisconn.Conn, policy *dialpolicy.Policy, c config, clock world.Clock, logger *slog.Logger) ([]*tenant, error) {
	namespaces, err := c.namespaces()
	if err != nil {
		return nil, err
	}
	tenants, ledger := make([]*tenant, 0, len(namespaces)), &rollback.Ledger{}
	bell := doorbell.New(conn.Client, logger) // shared by all: one connection per process
	for _, n := range namespaces {
		t, err := newTenant(ctx, conn, bell, policy, c, n, clock, logger)
		if err != nil {
			return nil, err
		}
		t.remember(conn, ledger)
		tenants = append(tenants, t)
	}
	tenants[0].lost = rollback.New(rollback.Config{Masters: conn.ReplicationIDs, Ledger: ledger, Logger: logger})
	tenants[0].memory = newMemory(conn, tenants, c, clock, logger)
	return tenants, nil
}

// remember has the starts and resumes that the API answered checked after Redis changes its master. The data of an
// embedded Redis ends with the process, so there it is not done.
func (t *tenant) remember(conn *redisconn.Conn, ledger *rollback.Ledger) {
	t.answered = t.store
	if conn.Mode != redisconn.Embedded {
		t.answered = &rollback.Recorder{Store: t.store, Ledger: ledger, Home: &rollback.Home{Store: t.store, Runs: t.store, Logger: t.log}}
	}
}

// deps are what the API needs of a namespace.
func (t *tenant) deps() httpapi.Deps {
	deps := httpapi.Deps{Store: t.answered, Lost: t.store.ListLost, Queue: t.queue, Apps: t.apps, AppWarnings: t.apps.Warnings, Streams: t.streams, Admin: t.queue, Forget: t.queue, CheckRun: t.store.CheckRun}
	deps.Remover = guardedRemover{t.store, t.builds}
	deps.Waker = recovery.Waker{Store: t.store, Queue: t.queue, Logger: t.log}
	if !t.clustered && t.fast.has(pipelines) {
		deps.InOrder = t.inOrder
	}
	if t.replicated {
		deps.Acknowledged = replicated.Wanted
	}
	t.readArchived(&deps)
	return deps
}

// forAPI returns the namespaces other than the default one, which is the first.
func forAPI(tenants []*tenant) []httpapi.Namespace {
	var out []httpapi.Namespace
	for _, t := range tenants[1:] {
		out = append(out, httpapi.Namespace{Name: t.name, Tokens: t.tokens, Deps: t.deps()})
	}
	return out
}

// together runs one part of every tenant until all have ended. If one fails, the others are stopped.
func together(tenants []*tenant, run func(*tenant, context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, t := range tenants {
			g.Go(func() error { return run(t, ctx) })
		}
		return g.Wait()
	}
}
