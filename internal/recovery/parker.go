package recovery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/pause"
)

const (
	// parkAfter is how long a note waits: by then, most logs have grown or the run has ended.
	parkAfter = 5 * time.Second
	// notesKept limits the notes. A run without a note is found by the Reconciler, and costs a wake-up.
	notesKept = 10_000
	// parkAtOnce is how many runs are marked in Redis at a time.
	parkAtOnce = 16
	// lastNotes limits the writing of the remaining notes when the service stops.
	lastNotes = 2 * time.Second
)

// ParkerConfig configures a Parker. The zero value of a field means its default.
type ParkerConfig struct {
	After  time.Duration // from an acknowledged delivery to the mark in Redis; 5 s
	Clock  world.Clock
	Logger *slog.Logger
}

// Parker parks runs that wait for their hooks and have processed everything in their logs: an app acknowledged a
// delivery, and the log is as long as it was when that delivery began. Lengths are compared, not times, because the
// clocks of replicas differ. The Reconciler leaves a parked run alone.
type Parker struct {
	cfg   ParkerConfig
	store Store

	mu    sync.Mutex
	notes map[string]note // by run
}

type note struct {
	world.LogSeen
	at time.Time
}

// NewParker returns a Parker.
func NewParker(store Store, cfg ParkerConfig) *Parker {
	if cfg.After <= 0 {
		cfg.After = parkAfter
	}
	if cfg.Clock == nil {
		cfg.Clock = world.SystemClock{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Parker{cfg: cfg, store: store, notes: map[string]note{}}
}

// LookedAt records that an app acknowledged a delivery for a run, and the state of the run's log when that delivery
// began. It does not block.
func (p *Parker) LookedAt(runID string, log world.LogSeen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.notes[runID]
	switch {
	case before.Events > log.Events || !known && len(p.notes) >= notesKept:
	case before.Events == log.Events:
		before.HooksOnly = before.HooksOnly || log.HooksOnly
		p.notes[runID] = before
	default:
		p.notes[runID] = note{log, p.cfg.Clock.Now()}
	}
}

// Run parks runs until ctx ends, and then those that remain.
func (p *Parker) Run(ctx context.Context) error {
	for pause.For(ctx, p.cfg.After) {
		p.park(ctx, p.due(p.cfg.After))
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastNotes)
	defer cancel()
	p.park(last, p.due(0))
	return nil
}

// due removes and returns the notes that are old enough.
func (p *Parker) due(age time.Duration) map[string]world.LogSeen {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Clock.Now()
	out := map[string]world.LogSeen{}
	for runID, n := range p.notes {
		if now.Sub(n.at) >= age {
			out[runID] = n.LogSeen
			delete(p.notes, runID)
		}
	}
	return out
}

// park parks those of the runs whose logs have not grown. Failures are left to the Reconciler.
func (p *Parker) park(ctx context.Context, looked map[string]world.LogSeen) {
	parked, err := p.unclear(ctx, looked)
	if err == nil {
		var g errgroup.Group
		g.SetLimit(parkAtOnce)
		for runID, log := range looked {
			if log.HooksOnly || parked[runID] {
				g.Go(func() error { return p.store.MarkIdle(ctx, runID, log.Events) })
			}
		}
		err = g.Wait()
	}
	if err != nil && ctx.Err() == nil {
		p.cfg.Logger.DebugContext(ctx, "runs are not parked; each may be woken once", slog.Any("error", err))
	}
}

// unclear returns which runs wait only for their hooks, among those of which only the length of the log is known. It
// reads a log if the log has not grown.
func (p *Parker) unclear(ctx context.Context, looked map[string]world.LogSeen) (map[string]bool, error) {
	parked := map[string]bool{}
	var runIDs []string
	look := func() error {
		if len(runIDs) == 0 {
			return nil
		}
		idles, err := p.store.RunsIdle(ctx, runIDs)
		if err != nil {
			return err
		}
		for i, runID := range runIDs {
			if !idles[i].Hooks || idles[i].MarkedIdle || idles[i].Events != looked[runID].Events {
				continue
			}
			state, err := readLog(ctx, p.store, runID)
			if err != nil { // the Reconciler reports it
				continue
			}
			parked[runID] = state.waitsForHooksOnly()
		}
		runIDs = runIDs[:0]
		return nil
	}
	for runID, log := range looked {
		if log.HooksOnly {
			continue
		}
		if runIDs = append(runIDs, runID); len(runIDs) == batch {
			if err := look(); err != nil {
				return nil, err
			}
		}
	}
	return parked, look()
}
