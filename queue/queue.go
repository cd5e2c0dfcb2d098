package queue

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/apps"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
	"github.com/world-redis/world-redis/queue/internal/backoff"
	"github.com/world-redis/world-redis/queue/internal/lane"
	"github.com/world-redis/world-redis/queue/internal/script"
)

//go:embed lua
var luaFiles embed.FS

// Backoff says how long a message waits before it is delivered again. The zero value of a field means its default.
type Backoff = backoff.Times

// Config says how a Queue works. The zero value of a field means its default.
type Config struct {
	KeyPrefix       string        // of all keys but asynq's own; "workflow:"
	JobPrefix       string        // of the two asynq queues, <prefix>flows and <prefix>steps; "workflow_"
	FlowConcurrency int           // flow deliveries at a time in this process; 100
	StepConcurrency int           // step deliveries at a time in this process; 100
	ShutdownGrace   time.Duration // how long running deliveries may continue when Run has to end; 30 s
	BaseURL         string        // of the app to deliver to when none has registered
	// MayCall returns why the service does not connect to the address of an app. Such an app cannot register, and gets
	// nothing if it is registered already. nil allows every address.
	MayCall func(baseURL string) error
	Backoff Backoff
	// AppConcurrency is how many deliveries of a kind at a time one app may have in this
	// process. The default is four fifths of the slots if there are several apps, otherwise all.
	AppConcurrency int
	// Policy says what becomes of a message while no app of its deployment is alive. Before
	// Patience is over it waits in any case; 1 min.
	Policy   Policy
	Patience time.Duration
	Clock    world.Clock
	Logger   *slog.Logger
	Bell     *doorbell.Bell // the process's subscription connection; default: one of its own
	// Runner sends messages, and may send what others have prepared in the same pipeline; default: one of its own.
	Runner    *luascript.Runner
	Deliverer world.Deliverer
	// RunDead is called before a message of a run is set aside as dead, so that the run does not
	// wait for it forever. If it fails, the message is delivered again. nil disables it.
	RunDead func(ctx context.Context, m world.Message, why Death, reason string) error
	// Stray is called with a message that an app did not acknowledge. If its run does not exist or has
	// no such step, no app ever will: Stray then mends the run if that is needed, and returns why the
	// message is done. Otherwise the reason is empty. nil disables it.
	Stray func(ctx context.Context, messageID string, m world.Message) (reason string, err error)
	// Late is called with a message whose run is so old that it may have been removed, before it is delivered, and with one that
	// an app did not acknowledge. It returns why the message is set aside as dead: it carries the input of a run that has been
	// removed. Otherwise the reason is empty. nil disables it.
	Late func(ctx context.Context, m world.Message) (reason string, err error)
	// Preload returns how to read what a wake-up carries to an app that takes it (world.Delivery.TakesPreload), so
	// that this needs no extra round trip. The Deliverer reads what was not preloaded. With whole false only the length of the log
	// is needed. nil disables it, which a cluster requires: there the run is on another node than the queue.
	Preload func(runID string, whole bool) *Preload
	// LookedAt is called when an app has acknowledged a delivery for a run, with the state of the run's log when that
	// delivery began, if that is known. nil disables it.
	LookedAt func(runID string, log world.LogSeen)
	// Relieved reports whether another process sweeps the queues for all. Meanwhile this one does so
	// rarely while it has no work. nil is never.
	Relieved func() bool
	// Version of this build, which other replicas see.
	Version string
	// Observer is called with what happens; nil disables it.
	Observer Observer
}

// Queue holds messages in Redis and delivers them.
type Queue struct {
	cfg     Config
	redis   redis.UniversalClient
	send    *luascript.Runner
	scripts *script.Set
	minter  *ids.Minter
	process *lane.Process

	flows, steps *worker
	apps         *apps.Registry
	health       *apps.Health
	outage       *lane.Outage
	crashes      *crashLooker
	suspectTimes suspectTimes
	ended        chan endedRun // see forget.go
	cooldownFor  func(took time.Duration, steps int64) time.Duration

	phases         lane.Phases
	stopClaiming   context.CancelFunc
	stopDelivering context.CancelCauseFunc
	stopWriting    context.CancelFunc
	started        atomic.Bool
}

// New loads the scripts into Redis and returns a Queue that accepts messages. It
// delivers none until [Queue.Run].
func New(ctx context.Context, client redis.UniversalClient, cfg Config) (*Queue, error) {
	return open(ctx, client, cfg, asynqbridge.Check)
}

func open(ctx context.Context, client redis.UniversalClient, cfg Config, checkAsynq func() error) (*Queue, error) {
	if err := checkAsynq(); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if cfg.Deliverer == nil {
		return nil, errors.New("queue: Config.Deliverer is missing")
	}
	cfg = cfg.withDefaults()
	if cfg.Bell == nil {
		cfg.Bell = doorbell.New(client, cfg.Logger)
	}
	if cfg.Runner == nil {
		cfg.Runner = luascript.NewRunner(client)
	}
	if !cfg.Policy.Valid() {
		return nil, fmt.Errorf("queue: there is no policy %q", cfg.Policy)
	}
	s, err := script.Load(ctx, client, luaFiles)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	minter := ids.NewMinter(cfg.Clock)
	q := &Queue{cfg: cfg, redis: client, send: cfg.Runner, scripts: s, minter: minter, process: &lane.Process{ID: minter.New().String()}}
	q.health = apps.NewHealth(cfg.Backoff, cfg.Clock, cfg.Logger)
	q.apps = apps.New(apps.Config{
		Redis: client, Key: cfg.KeyPrefix + "apps", Script: s.Register, Replace: s.ReplaceApp, Clock: cfg.Clock,
		BaseURL: cfg.BaseURL, MayCall: cfg.MayCall, Wake: q.wake,
	}, q.health)
	q.ended = make(chan endedRun, endedBacklog)
	q.cooldownFor = cooldownFor
	q.crashes, q.suspectTimes = newCrashLooker(q), usualSuspectTimes
	q.outage = lane.NewOutage(cfg.Clock, cfg.Logger)
	claiming, stopClaiming := context.WithCancel(context.Background())
	delivering, stopDelivering := context.WithCancelCause(context.Background())
	writing, stopWriting := context.WithCancel(context.Background())
	q.phases = lane.Phases{Claiming: claiming, Delivering: delivering, Writing: writing}
	q.stopClaiming, q.stopDelivering, q.stopWriting = stopClaiming, stopDelivering, stopWriting
	q.flows = newWorker(q, world.KindFlow, cfg.JobPrefix+"flows", cfg.FlowConcurrency)
	q.steps = newWorker(q, world.KindStep, cfg.JobPrefix+"steps", cfg.StepConcurrency)
	return q, nil
}

func (c Config) withDefaults() Config {
	c.KeyPrefix = cmp.Or(c.KeyPrefix, "workflow:")
	c.JobPrefix = cmp.Or(c.JobPrefix, "workflow_")
	c.FlowConcurrency = cmp.Or(c.FlowConcurrency, 100)
	c.StepConcurrency = cmp.Or(c.StepConcurrency, 100)
	c.ShutdownGrace = cmp.Or(c.ShutdownGrace, 30*time.Second)
	c.Policy = cmp.Or(c.Policy, Hold)
	c.Patience = cmp.Or(c.Patience, time.Minute)
	if c.Clock == nil {
		c.Clock = world.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if c.Relieved == nil {
		c.Relieved = func() bool { return false }
	}
	if c.MayCall == nil {
		c.MayCall = func(string) error { return nil }
	}
	c.Version = cmp.Or(c.Version, "dev")
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Backoff = c.Backoff.WithDefaults()
	return c
}

func (q *Queue) workers() []*worker { return []*worker{q.flows, q.steps} }

func (q *Queue) worker(kind world.Kind) *worker {
	if kind == world.KindStep {
		return q.steps
	}
	return q.flows
}

func (q *Queue) nowMillis() world.Millis { return world.MillisOf(q.cfg.Clock.Now()) }

// dueIn returns the time after a delay, rounded up to a millisecond. 0 is now.
func (q *Queue) dueIn(d time.Duration) world.Millis {
	if d <= 0 {
		return 0
	}
	return world.MillisOf(q.cfg.Clock.Now().Add(min(d, world.MaxDelay) + time.Millisecond - 1))
}
