package streaming

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/luascript"
)

// Config sets up a [Service]. The zero value is usable.
type Config struct {
	Prefix string       // of every key; default "workflow:"
	Clock  world.Clock  // default: the machine's clock
	Logger *slog.Logger // default: nothing is logged

	MaxChunk      int           // most bytes of one chunk; default 64 MiB
	MaxChunks     int64         // most chunks of one stream; default 10 million
	PageBytes     int           // size at which a reader's page is full; default 256 KiB
	AuditInterval time.Duration // how long a lost doorbell may delay a reader; default 1.5 s
	Quiet         time.Duration // how long after the end of its run and the last write an open stream is over; default 60 s

	Bell *doorbell.Bell // the process's subscription connection; default: a new one
	Runs world.RunEnds  // reports when runs end; default: streams end only by being closed, and any run exists
	// Dials counts the connections to Redis that were opened. What this process remembers of Redis is valid until the
	// count grows, because another master may lack it. Default: it is valid for one to two minutes.
	Dials func() uint64

	// Steps looks up steps in logs. Default: every step exists, so only the step that closed a stream writes to it.
	Steps world.StepFinder

	// Called between the two looks at a stream that seems over. Tests act in between.
	pause func(ctx context.Context, stopped <-chan struct{}, d time.Duration) error
}

const (
	defaultPrefix        = "workflow:"
	defaultMaxChunk      = 64 << 20
	defaultMaxChunks     = 10_000_000
	defaultPageBytes     = 256 << 10
	defaultAuditInterval = 1500 * time.Millisecond
	defaultQuiet         = time.Minute
)

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if c.Clock == nil {
		c.Clock = world.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.MaxChunk <= 0 {
		c.MaxChunk = defaultMaxChunk
	}
	if c.MaxChunks <= 0 {
		c.MaxChunks = defaultMaxChunks
	}
	if c.PageBytes <= 0 {
		c.PageBytes = defaultPageBytes
	}
	if c.AuditInterval <= 0 {
		c.AuditInterval = defaultAuditInterval
	}
	if c.Quiet <= 0 {
		c.Quiet = defaultQuiet
	}
	if c.Dials == nil {
		c.Dials = func() uint64 { return 0 }
	}
	if c.pause == nil {
		c.pause = pause
	}
	return c
}

// Service implements [world.StreamStore].
type Service struct {
	client  redis.UniversalClient
	prefix  string
	config  Config
	clock   world.Clock
	log     *slog.Logger
	minter  *ids.Minter
	scripts scripts

	listed   *recent[uint64] // (run, stream) pairs that this process listed lately, with the number of dials then
	tails    *recent[int64]  // the ends of streams that this process wrote lately; see appendDirect
	known    *recent[uint64] // runs that existed lately, with the number of dials then
	arrivals arrivals
	topics   *topics
	looks    singleflight.Group // states that several readers request at once
	pages    sharedReads        // the same for pages
	started  atomic.Bool
	stopped  chan struct{} // closed when Run ends
}

var _ world.StreamStore = (*Service)(nil)

// New loads the scripts into Redis. Writes and snapshots work immediately; live reads need [Service.Run].
func New(ctx context.Context, client redis.UniversalClient, config Config) (*Service, error) {
	config = config.withDefaults()
	loaded, err := loadScripts()
	if err != nil {
		return nil, err
	}
	if err := luascript.Register(ctx, client, loaded.append, loaded.close, loaded.page, loaded.purge); err != nil {
		return nil, err
	}
	if config.Bell == nil {
		config.Bell = doorbell.New(client, config.Logger)
	}
	return &Service{
		client: client, prefix: config.Prefix, config: config, clock: config.Clock,
		log: config.Logger.With(slog.String("part", "streaming")), minter: ids.NewMinter(config.Clock), scripts: loaded,
		listed: newRecent[uint64](), tails: newRecent[int64](),
		known: newRecent[uint64](), arrivals: arrivals{streams: map[string]*arrival{}},
		topics: newTopics(config.Bell), pages: sharedReads{inProgress: map[sharing]*sharedRead{}}, stopped: make(chan struct{}),
	}, nil
}

// Run holds the one subscription connection until ctx ends. It may be called once. When it ends, every live read
// returns CodeUnavailable; the caller then ends its answer without an end frame, and the reader continues at another
// replica.
func (s *Service) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("streaming: Run was called twice")
	}
	defer close(s.stopped)
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.topics.bell.Run(ctx) })
	parts.Go(func() error { return s.audit(ctx) })
	return parts.Wait()
}

// Stats are the current numbers of the service.
type Stats struct {
	Readers       int // live reads
	Subscriptions int // streams that have a live read
}

// Stats counts the live reads of this process.
func (s *Service) Stats() Stats { return s.topics.stats() }
