package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// batch is how many runs are looked at in one go: about 5 ms of Redis, in short commands.
	batch = 200
	// pace is the pause between two batches, so that a million parked runs are walked in 21
	// minutes at two per cent of one core.
	pace = 250 * time.Millisecond
	// leadLease is how long a leader that is not heard of keeps the others waiting.
	leadLease = 30 * time.Second
	// retryPause follows a failed pass.
	retryPause = 5 * time.Second
)

// Store is what a Reconciler reads.
type Store interface {
	world.RunStore
	world.EventStore
	world.RestStore
}

// Queue is what a Reconciler asks and tells the queue.
type Queue interface {
	world.Queue
	// ListApps tells in which namespace of queue names a deployment listens.
	ListApps(ctx context.Context) ([]world.App, error)
	// Outstanding reports for each run whether any message of it is in the queue or being
	// delivered.
	Outstanding(ctx context.Context, runIDs []string) ([]bool, error)
}

// Config says how a Reconciler works. The zero value of a field means its default.
type Config struct {
	Holder string        // of this process, unlike that of any other
	Grace  time.Duration // how long a run must have been still; 1 min
	Every  time.Duration // between two passes; half of Grace, 1 s to 30 s
	Clock  world.Clock
	Logger *slog.Logger
	// Woken hears of every run that was woken; nil: nobody does.
	Woken func()
}

// Reconciler wakes forgotten runs.
type Reconciler struct {
	cfg   Config
	store Store
	queue Queue
}

// New returns a Reconciler.
func New(store Store, queue Queue, cfg Config) *Reconciler {
	if cfg.Grace <= 0 {
		cfg.Grace = time.Minute
	}
	if cfg.Every <= 0 {
		cfg.Every = min(30*time.Second, max(time.Second, cfg.Grace/2))
	}
	if cfg.Clock == nil {
		cfg.Clock = world.SystemClock{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Woken == nil {
		cfg.Woken = func() {}
	}
	return &Reconciler{cfg: cfg, store: store, queue: queue}
}

// Run makes one pass after another until ctx ends. It is for every replica: one leads.
func (r *Reconciler) Run(ctx context.Context) error {
	for {
		wait := r.cfg.Every
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			r.cfg.Logger.WarnContext(ctx, "the search for forgotten runs failed; it begins again soon", slog.Any("error", err))
			wait = min(wait, retryPause)
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// pass walks all runs that have not ended, oldest first, as long as this process leads.
func (r *Reconciler) pass(ctx context.Context) error {
	page := world.PageRequest{Limit: batch, Order: world.Ascending}
	for {
		leads, err := r.store.Lead(ctx, "recovery", r.cfg.Holder, leadLease)
		if err != nil || !leads {
			return err
		}
		runs, err := r.store.ListRuns(ctx, world.RunQuery{
			Statuses: []world.RunStatus{world.RunPending, world.RunRunning}, Page: page, ResolveNone: true,
		})
		if err != nil {
			return err
		}
		if err := r.check(ctx, runs.Data); err != nil {
			return err
		}
		if !runs.HasMore {
			return nil
		}
		page.Cursor = runs.Cursor
		if !sleep(ctx, pace) {
			return nil
		}
	}
}

// check wakes those of the runs that nothing else will wake.
func (r *Reconciler) check(ctx context.Context, runs []world.Run) error {
	still := make([]world.Run, 0, len(runs))
	for _, run := range runs {
		if r.isStill(run.UpdatedAt) {
			still = append(still, run)
		}
	}
	still, err := r.withoutMessage(ctx, still)
	if err != nil || len(still) == 0 {
		return err
	}
	runIDs := make([]string, len(still))
	for i, run := range still {
		runIDs[i] = run.RunID
	}
	rests, err := r.store.RunsRest(ctx, runIDs)
	if err != nil {
		return err
	}
	for i, run := range still {
		if rests[i].Rested || !r.isStill(rests[i].LastAt) {
			continue
		}
		// A run that cannot be read must not keep those after it from being found.
		if err := r.decide(ctx, run, rests[i]); err != nil {
			if ctx.Err() != nil || world.ErrorCode(err) == world.CodeUnavailable {
				return err
			}
			r.cfg.Logger.ErrorContext(ctx, "a run that may be forgotten is passed over", slog.String("run", run.RunID), slog.Any("error", err))
		}
	}
	return nil
}

func (r *Reconciler) isStill(since world.Millis) bool {
	return r.cfg.Clock.Now().Sub(since.Time()) >= r.cfg.Grace
}

func (r *Reconciler) withoutMessage(ctx context.Context, runs []world.Run) ([]world.Run, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	runIDs := make([]string, len(runs))
	for i, run := range runs {
		runIDs[i] = run.RunID
	}
	outstanding, err := r.queue.Outstanding(ctx, runIDs)
	if err != nil {
		return nil, err
	}
	var out []world.Run
	for i, run := range runs {
		if !outstanding[i] {
			out = append(out, run)
		}
	}
	return out, nil
}

// decide wakes a run without a message, or notes that it is parked.
func (r *Reconciler) decide(ctx context.Context, run world.Run, rest world.RunRest) error {
	if rest.Hooks {
		state, err := readLog(ctx, r.store, run.RunID)
		if err != nil {
			return err
		}
		if state.parked() {
			return r.store.MarkRested(ctx, run.RunID, rest.Events)
		}
		// A payload that came and perhaps was never looked at: one wake-up finds out, and after
		// it the run may well be parked again with the same log.
		if state.waitsForHooksOnly() {
			if err := r.wake(ctx, run, rest); err != nil {
				return err
			}
			return r.store.MarkRested(ctx, run.RunID, rest.Events)
		}
	}
	return r.wake(ctx, run, rest)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
