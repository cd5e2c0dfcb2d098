package recovery

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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
	// askTimeout limits the reading of the masters' ids.
	askTimeout = 5 * time.Second
)

// ParkerConfig configures a Parker. The zero value of a field means its default.
type ParkerConfig struct {
	After   time.Duration // from an acknowledged delivery to the mark in Redis; 5 s
	Clock   world.Clock
	Logger  *slog.Logger
	Masters Masters
}

// Parker parks runs that wait for their hooks and have processed everything in their logs: an app acknowledged a
// delivery, and the log is as long as it was when that delivery began. Lengths are compared, not times, because the
// clocks of replicas differ. The Reconciler leaves a parked run alone.
//
// A failover may take back what the app wrote in a delivery that it acknowledged. The log then has its earlier length
// again, and the run would wait for ever. So a run is parked only if the masters have not changed since its delivery
// began.
type Parker struct {
	cfg     ParkerConfig
	store   Store
	masters mastersSince // used by Run alone

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
	return &Parker{cfg: cfg, store: store, masters: mastersSince{text: neverChange}, notes: map[string]note{}}
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
		if before.At.Before(log.At) {
			before.At = log.At // the later delivery saw the same log
		}
		p.notes[runID] = before
	default:
		p.notes[runID] = note{log, p.cfg.Clock.Now()}
	}
}

// Run parks runs until ctx ends, and then those that remain.
func (p *Parker) Run(ctx context.Context) error {
	if err := p.lookAtMasters(ctx); err != nil && ctx.Err() == nil {
		p.cfg.Logger.DebugContext(ctx, "the masters of Redis are not known; the first runs are not parked", slog.Any("error", err))
	}
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
	if len(looked) == 0 {
		return
	}
	still, err := p.still(ctx, looked)
	if err == nil {
		// After the logs were compared: whatever a failover took back until then, it is known now. What it takes back
		// later came after the log that the run has seen.
		err = p.lookAtMasters(ctx)
	}
	if err == nil {
		var g errgroup.Group
		g.SetLimit(parkAtOnce)
		for _, runID := range still {
			if log := looked[runID]; !log.At.Before(p.masters.at) {
				g.Go(func() error { return p.store.MarkIdle(ctx, runID, log.Events) })
			}
		}
		err = g.Wait()
	}
	if err != nil && ctx.Err() == nil {
		p.cfg.Logger.DebugContext(ctx, "runs are not parked; each may be woken once", slog.Any("error", err))
	}
}

func (p *Parker) lookAtMasters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return p.masters.look(ctx, p.cfg.Masters, p.cfg.Clock.Now())
}

// still returns the runs that have a live hook and whose logs have not grown, and that wait for their hooks alone. It
// reads the log of a run of which only the length is known.
func (p *Parker) still(ctx context.Context, looked map[string]world.LogSeen) ([]string, error) {
	var out []string
	for runIDs := range slices.Chunk(slices.Collect(maps.Keys(looked)), batch) {
		idles, err := p.store.RunsIdle(ctx, runIDs)
		if err != nil {
			return nil, err
		}
		for i, runID := range runIDs {
			log := looked[runID]
			if !idles[i].Hooks || idles[i].MarkedIdle || idles[i].Events != log.Events {
				continue
			}
			if !log.HooksOnly {
				state, err := readLog(ctx, p.store, runID)
				if err != nil || !state.waitsForHooksOnly() { // the Reconciler reports an error
					continue
				}
			}
			out = append(out, runID)
		}
	}
	return out, nil
}
