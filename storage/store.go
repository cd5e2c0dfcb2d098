package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/storage/internal/runindex"
	"github.com/world-redis/world-redis/storage/internal/waiters"
)

// Config says where and how a Store keeps its data. The zero value is usable.
type Config struct {
	Prefix        string         // of every key; default "workflow:"
	Clock         world.Clock    // default world.SystemClock
	Logger        *slog.Logger   // default: discards
	MaxEvents     int            // reported with every run; default 25000
	SweepInterval time.Duration  // at most, between two passes of the sweeper; default 30 s
	HookRetention time.Duration  // at most, how long a hook may keep its token after its run; default 30 days
	Bell          *doorbell.Bell // the process's subscription connection; default: a new one
	// Leadership says whether this process sweeps; nil if it is the only process.
	Leadership world.Leadership
	// Dials counts the connections to Redis that were opened. While it stays the same, all calls go to the same master. nil
	// means that Redis loses nothing that it has acknowledged.
	Dials func() uint64
	// PurgeStreams removes the streams of a run that keeps nothing after its end. It must be safe to call again; nil if there
	// are no streams.
	PurgeStreams func(ctx context.Context, runID string) error
	// ExpectPurge is called before a run gets the attribute by which it keeps nothing: its streams must not be read after its
	// end, although PurgeStreams comes later. It must be safe to call again; nil if there are no streams.
	ExpectPurge func(ctx context.Context, runID string) error
	// RemoveStreams and RemoveMessages remove the streams and the messages of runs that are being removed, with all that names them.
	// They must be safe to call again; nil if there are none.
	RemoveStreams, RemoveMessages func(ctx context.Context, runIDs []string) error
	// Retention says how long runs are kept after their end.
	Retention world.Retention
	// ArchiveAfter is how long after its end a run leaves Redis if it is archived and no rule of Retention is earlier; 0: only the
	// rules count.
	ArchiveAfter time.Duration
	// Archive copies runs that are to be removed to where they are kept, and returns those that are safe there. Only these are
	// removed. It must be safe to call again; nil if there is no archive.
	Archive func(ctx context.Context, runIDs []string) (safe []string, err error)
	// ArchiveOwnRetention has runs archived, too, that say themselves how long they are kept (world.RetentionAttribute).
	ArchiveOwnRetention bool
	// MayRemove reports whether runs may be removed because they are due; nil if they may always be.
	MayRemove func(ctx context.Context) (bool, error)
	// RemovedFor is the age of a run id up to which it is known that its run has been removed; default 30 days. An older id that is
	// unknown cannot create a run.
	RemovedFor time.Duration
	// Pressure says in a sentence that Redis is too full, and is empty otherwise: runs are then removed before their time. It is
	// called every few seconds; nil if runs are never removed early.
	Pressure func(ctx context.Context) (string, error)
	// PressureAfter is how long after its end a run is removed early at the earliest; default ArchiveAfter, otherwise 15 minutes.
	PressureAfter time.Duration
	// NoSharedPipelines sends each call to Redis by itself.
	NoSharedPipelines bool
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "workflow:"
	}
	if c.Clock == nil {
		c.Clock = world.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.MaxEvents <= 0 {
		c.MaxEvents = 25_000
	}
	if c.SweepInterval <= 0 {
		c.SweepInterval = 30 * time.Second
	}
	if c.HookRetention <= 0 {
		c.HookRetention = 30 * 24 * time.Hour
	}
	if c.RemovedFor <= 0 {
		c.RemovedFor = 30 * day
	}
	if c.Leadership == nil {
		c.Leadership = world.Alone{}
	}
	if c.Dials == nil {
		c.Dials = func() uint64 { return 0 }
	}
	if c.ExpectPurge == nil {
		c.ExpectPurge = func(context.Context, string) error { return nil }
	}
	if c.PurgeStreams == nil {
		c.PurgeStreams = func(context.Context, string) error { return nil }
	}
	for _, call := range []*func(context.Context, []string) error{&c.RemoveStreams, &c.RemoveMessages} {
		if *call == nil {
			*call = func(context.Context, []string) error { return nil }
		}
	}
	if c.PressureAfter <= 0 {
		c.PressureAfter = cmp.Or(c.ArchiveAfter, 15*time.Minute)
	}
	if c.MayRemove == nil {
		c.MayRemove = func(context.Context) (bool, error) { return true, nil }
	}
	return c
}

// Store implements world.Store on Redis. It is safe for concurrent use.
type Store struct {
	redis       redis.UniversalClient
	send        *luascript.Runner
	portions    *semaphore.Weighted // bytes of large values that are being read
	clustered   bool                // a pipeline keeps no order across nodes
	keys        keyspace
	scripts     *scriptSet
	ids         *ids.Minter
	clock       world.Clock
	log         *slog.Logger
	maxEvents   int
	interval    time.Duration
	leadership  world.Leadership
	retention   time.Duration
	removedKept time.Duration // RemovedFor of Config
	dials       func() uint64 // that of Config
	mended      atomic.Int64  // entries that a crash had left
	index       *runindex.Index
	cleanups    *cleanups
	waiters     *waiters.Waiters
	stats       stats
	dueRuns     *dueRuns
	removing    *cleanups // large runs that are being removed
	// These are those of Config.
	purgeStreams, expectPurge     func(ctx context.Context, runID string) error
	removeStreams, removeMessages func(ctx context.Context, runIDs []string) error
}

var _ world.Store = (*Store)(nil)

// New returns a Store. It loads every script into Redis, and so fails here if the server cannot run them.
func New(ctx context.Context, client redis.UniversalClient, c Config) (*Store, error) {
	c = c.withDefaults()
	if strings.ContainsAny(c.Prefix, "{}") {
		return nil, errors.New("storage: the key prefix may not contain braces: they would move every key to one hash slot")
	}
	scripts, err := loadScripts()
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	if err := luascript.Register(ctx, client, scripts.all()...); err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	if c.Bell == nil {
		c.Bell = doorbell.New(client, c.Logger)
	}
	_, clustered := client.(*redis.ClusterClient)
	keys := keyspace{prefix: c.Prefix}
	s := &Store{
		cleanups: newCleanups(), removing: newCleanups(), dueRuns: newDueRuns(c),
		redis: client, send: luascript.RunnerFor(client, c.NoSharedPipelines), clustered: clustered, keys: keys, scripts: scripts,
		ids: ids.NewMinter(c.Clock), clock: c.Clock, log: c.Logger, maxEvents: c.MaxEvents, interval: c.SweepInterval, leadership: c.Leadership,
		retention: c.HookRetention, removedKept: c.RemovedFor, dials: c.Dials, purgeStreams: c.PurgeStreams, expectPurge: c.ExpectPurge,
		removeStreams: c.RemoveStreams, removeMessages: c.RemoveMessages, portions: semaphore.NewWeighted(portionsBytes),
	}
	s.index = s.newIndex()
	s.waiters = s.newWaiters(c.Bell, auditEvery)
	return s, nil
}

// MaxEvents is the number of events that is reported with every run.
func (s *Store) MaxEvents() int { return s.maxEvents }

// auditEvery is how long a lost message may delay those who wait for a run to end.
const auditEvery = 1500 * time.Millisecond

func (s *Store) newWaiters(bell *doorbell.Bell, audit time.Duration) *waiters.Waiters {
	return waiters.New(waiters.Config{
		Bell: bell, Channel: func(runID string) string { return s.keys.of(runID).ended() }, Ended: s.runsEnded, AuditEvery: audit,
	})
}

// Scripts returns every script of this package, for the setup doctor.
func (s *Store) Scripts() []*luascript.Script { return s.scripts.all() }

func (s *Store) now() world.Millis { return world.MillisOf(s.clock.Now()) }
