package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/pause"
)

const (
	// batch is how many runs are looked at in one go: about 5 ms of Redis, in short commands.
	batch = 200
	// pace is the pause between two batches, so that a million runs that are due at once take 21
	// minutes at two per cent of one core.
	pace = 250 * time.Millisecond
	// longestLook is how long after a run was entered it is looked at, at most: a crash may have left something of it.
	longestLook = time.Minute
	// longestWait is how long a run that waits for a delayed message is not looked at, at most.
	longestWait = time.Hour
	// retryPause follows a failed pass.
	retryPause = 5 * time.Second
)

// Store is what a Reconciler reads.
type Store interface {
	world.RunStore
	world.EventStore
	world.RestStore
	world.StepFinder
}

// Queue is what a Reconciler asks and tells the queue.
type Queue interface {
	WakeQueue
	// NextDue tells for each run when the first of its messages is due, in the order of the ids: a moment that has passed
	// while one is to be delivered now or is being delivered, 0 if the run has none.
	NextDue(ctx context.Context, runIDs []string) ([]world.Millis, error)
	// StepMessages returns the messages of each run, if they are few and small, all for steps, and none
	// is being delivered; else none.
	StepMessages(ctx context.Context, runIDs []string) ([][]world.Message, error)
}

// Config says how a Reconciler works. The zero value of a field means its default.
type Config struct {
	Leadership world.Leadership // tells whether this process looks; it does, and is alone
	Grace      time.Duration    // how long a run must have been still; 1 min
	Every      time.Duration    // between two passes; half of Grace, 1 s to 30 s
	Clock      world.Clock
	Logger     *slog.Logger
	// Masters returns the replication id of each master of Redis, which a new master changes; nil: the masters stay the same.
	Masters func(ctx context.Context) ([]string, error)
	// Woken is called for every run that was woken; nil: nobody does.
	Woken func()
}

// Reconciler wakes forgotten runs.
type Reconciler struct {
	cfg   Config
	store Store
	queue Queue
	looks looks
	// masters names the masters of Redis during a check; nil: it was not asked for them yet.
	masters *string
}

// New returns a Reconciler.
func New(store Store, queue Queue, cfg Config) *Reconciler {
	if cfg.Leadership == nil {
		cfg.Leadership = world.Alone{}
	}
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
	if cfg.Masters == nil {
		cfg.Masters = func(context.Context) ([]string, error) { return nil, nil }
	}
	if cfg.Woken == nil {
		cfg.Woken = func() {}
	}
	return &Reconciler{cfg: cfg, store: store, queue: queue, looks: looks{}}
}

// Run makes one pass after another until ctx ends, while this process leads.
func (r *Reconciler) Run(ctx context.Context) error {
	for r.cfg.Leadership.Await(ctx) {
		wait := r.cfg.Every
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			r.cfg.Logger.WarnContext(ctx, "the search for forgotten runs failed; it is repeated soon", slog.Any("error", err))
			wait = min(wait, retryPause)
		}
		if !pause.For(ctx, wait) {
			return nil
		}
	}
	return nil
}

// pass looks at the runs that it is time to look at, as long as this process leads. What it costs depends on how many
// these are, and not on how many runs there are.
//
// What a process was at when it stood still does no harm when it goes on beside another leader. A wake-up has the length of
// the log in its request id, so the queue takes it once; a run is noted as parked only if its log is as long as it was read, and its next look
// only if nobody has entered it anew.
func (r *Reconciler) pass(ctx context.Context) error {
	before := world.MillisOf(r.cfg.Clock.Now().Add(-r.lookAfter()))
	for skip := 0; ; {
		var due world.DueRuns
		leads, err := r.cfg.Leadership.Lead(ctx, func(ctx context.Context) (err error) {
			if due, err = r.store.DueRuns(ctx, before, skip, batch); err != nil {
				return err
			}
			return r.check(ctx, due.Live)
		})
		if err != nil || !leads {
			return err
		}
		skip += due.Left
		if !due.More || !pause.For(ctx, pace) {
			return nil
		}
	}
}

// lookAfter is how long after it was entered a run is looked at: when it could be forgotten by then. With a long grace it is
// sooner, since a crash may have left something of it.
func (r *Reconciler) lookAfter() time.Duration { return min(r.cfg.Grace, longestLook) }

// check wakes those of the runs that nothing else will wake, and says when each is looked at next.
func (r *Reconciler) check(ctx context.Context, runs []world.RunLook) error {
	r.masters = nil
	dues, err := r.queue.NextDue(ctx, idsOf(runs))
	if err != nil {
		return err
	}
	next := make([]world.NextLook, 0, len(runs))
	var idle, busy []world.RunLook // without a message that will wake them, and with messages
	due := map[string]world.Millis{}
	for i, run := range runs {
		if dues[i] == 0 {
			idle = append(idle, run)
		} else {
			busy = append(busy, run)
			due[run.RunID] = dues[i]
		}
	}
	strays, err := r.withStraysOnly(ctx, busy)
	if err != nil {
		return err
	}
	idle = append(idle, strays...)
	for _, run := range strays {
		delete(due, run.RunID)
	}
	for _, run := range busy {
		if at, ok := due[run.RunID]; ok {
			next = append(next, world.NextLook{Look: run, Since: r.since(at)})
		}
	}
	// Once a run has no message its log does not grow, but from outside. So it is read again: before, it could.
	rests, err := r.store.RunsRest(ctx, idsOf(idle))
	if err != nil {
		return err
	}
	for i, run := range idle {
		run.Rest = rests[i]
		since, err := r.look(ctx, run)
		if err != nil {
			return err
		}
		next = append(next, world.NextLook{Look: run, Since: since})
	}
	return r.store.LookNext(ctx, next)
}

func idsOf(runs []world.RunLook) []string {
	runIDs := make([]string, len(runs))
	for i, run := range runs {
		runIDs[i] = run.RunID
	}
	return runIDs
}

// look decides about a run without a message, and returns since when it counts as seen, 0 if nobody needs to look again.
func (r *Reconciler) look(ctx context.Context, look world.RunLook) (world.Millis, error) {
	switch {
	case !r.isStill(look.Rest.LastAt):
		return look.Rest.LastAt + world.Millis((r.cfg.Grace - r.lookAfter()).Milliseconds()), nil
	case look.Rest.Rested:
		return 0, nil
	}
	run, err := r.store.GetRun(ctx, look.RunID, true)
	if err == nil && !run.Status.Terminal() {
		err = r.decide(ctx, run, look.Rest)
	}
	if err != nil {
		if ctx.Err() != nil || world.ErrorCode(err) == world.CodeUnavailable {
			return 0, err
		}
		// A run that cannot be read must not keep those after it from being found.
		r.cfg.Logger.ErrorContext(ctx, "a run that may be forgotten is skipped", slog.String("run", look.RunID), slog.Any("error", err))
	}
	return r.since(0), nil
}

// since is what a run is entered with whose first message is due at a moment: until then nothing happens to it that would
// not enter it anew. Now and then it is looked at all the same.
func (r *Reconciler) since(due world.Millis) world.Millis {
	now := r.cfg.Clock.Now()
	return max(world.MillisOf(now), min(due, world.MillisOf(now.Add(longestWait))))
}

func (r *Reconciler) isStill(since world.Millis) bool {
	return r.cfg.Clock.Now().Sub(since.Time()) >= r.cfg.Grace
}

// decide wakes a run without a message, or notes that it is parked. One that waits for hooks alone is woken once for each length
// of its log, which is no sign of a loss; any other has lost a message.
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
			if err := r.wake(ctx, run, rest, slog.LevelInfo, "a run may not have seen everything that its hooks received; it is woken as a precaution"); err != nil {
				return err
			}
			return r.store.MarkRested(ctx, run.RunID, rest.Events)
		}
	}
	return r.wake(ctx, run, rest, slog.LevelWarn, "a run had nothing that would wake it; it is woken")
}
