package redismemory

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/pause"
)

// warnWithin is how near the end of the memory must be for a WARN.
const warnWithin = 14 * day

// Config is what a Recorder works with.
type Config struct {
	Redis      redis.UniversalClient
	Home       string   // the prefix of the samples: that of the default namespace
	Prefixes   []string // of all namespaces
	Leadership world.Leadership
	Clock      world.Clock
	Logger     *slog.Logger
	// Kept says that finished runs stay for ever, so that the growth is logged.
	Kept bool
}

// Recorder stores how much memory Redis uses, and logs once a day how fast that grows.
type Recorder struct {
	Config
	every time.Duration // between two looks
}

// New returns a Recorder.
func New(c Config) *Recorder { return &Recorder{Config: c, every: 5 * time.Minute} }

// Run records until ctx ends, while this process leads.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		if !r.Leadership.Await(ctx) {
			return nil
		}
		_, err := r.Leadership.Lead(ctx, r.Record)
		if err != nil && ctx.Err() == nil {
			r.Logger.InfoContext(ctx, "the memory of Redis was not recorded; it is tried again", slog.Any("error", err))
		}
		if !pause.For(ctx, r.every) {
			return nil
		}
	}
}

// Record takes a sample if one is due, and logs the growth if a day has passed since the last time.
func (r *Recorder) Record(ctx context.Context) error {
	now := world.MillisOf(r.Clock.Now())
	nodes, err := Nodes(ctx, r.Redis)
	if err != nil {
		return err
	}
	if err := takeSample(ctx, r.Redis, r.Home, nodes, now); err != nil {
		return err
	}
	if !r.Kept {
		return nil
	}
	g, err := r.Measure(ctx)
	if err != nil || !g.Known || g.Span == 0 {
		return err
	}
	first, err := r.Redis.SetNX(ctx, saidKey(r.Home), "1", day).Result()
	if err != nil || !first {
		return err
	}
	r.say(ctx, g)
	return nil
}

// Measure is [Measure] for this service.
func (r *Recorder) Measure(ctx context.Context) (Growth, error) {
	return Measure(ctx, r.Redis, r.Home, r.Prefixes, world.MillisOf(r.Clock.Now()))
}

func (r *Recorder) say(ctx context.Context, g Growth) {
	level, text := slog.LevelInfo, g.String()
	if g.FullIn > 0 && g.FullIn <= warnWithin {
		level, text = slog.LevelWarn, text+"; set WORKFLOW_WORLD_RETENTION, so that finished runs leave Redis, or give it more memory"
	}
	r.Logger.Log(ctx, level, text, slog.Int64("bytes_a_day", g.PerDay), slog.Int64("used", g.Used), slog.Int64("maxmemory", g.Limit), slog.Int64("runs", g.Runs))
}
