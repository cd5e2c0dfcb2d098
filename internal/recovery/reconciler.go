package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/pause"
)

const (
	// batch is how many runs are checked at a time: about 5 ms of Redis, in short commands.
	batch = 200
	// pace is the pause between two batches. A million runs that are due at the same time take 21 minutes, at two per
	// cent of one core.
	pace = 250 * time.Millisecond
	// longestLook is the longest time from a run's entry to its check: a crash may have left something of it.
	longestLook = time.Minute
	// skew is how far the clocks of two replicas may differ.
	skew = world.Millis(60_000)
	// longestWait is the longest time without a check for a run that waits for a delayed message.
	longestWait = time.Hour
	// retryPause follows a failed pass.
	retryPause = 5 * time.Second
)

// Store is what a Reconciler needs of a store.
type Store interface {
	world.RunStore
	world.EventStore
	world.IdleStore
	world.StepFinder
}

// Queue is what a Reconciler needs of the queue.
type Queue interface {
	WakeQueue
	// NextDue returns for each run, in the order of the ids, when its first message is due: a past timestamp if a
	// message is ready or being delivered, 0 if the run has none.
	NextDue(ctx context.Context, runIDs []string) ([]world.Millis, error)
	// StepMessages returns the messages of each run if they are few and small, all of them are for steps, and none is
	// being delivered; otherwise none.
	StepMessages(ctx context.Context, runIDs []string) ([][]world.Message, error)
}

// Config configures a Reconciler. The zero value of a field means its default.
type Config struct {
	Leadership world.Leadership // decides whether this process checks; by default it does, alone
	Grace      time.Duration    // how long a run must have been inactive; 1 min
	Every      time.Duration    // between two passes; half of Grace, 1 s to 30 s
	Clock      world.Clock
	Logger     *slog.Logger
	Masters    Masters
	// Woken is called for every woken run; nil disables it.
	Woken func()
}

// Reconciler wakes forgotten runs.
type Reconciler struct {
	cfg   Config
	store Store
	queue Queue
	looks looks
	// masters identifies the masters of Redis during a check; nil until it was read.
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
	if cfg.Woken == nil {
		cfg.Woken = func() {}
	}
	return &Reconciler{cfg: cfg, store: store, queue: queue, looks: looks{}}
}

// Run makes passes until ctx ends, while this process leads.
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

// pass checks the runs that are due, as long as this process leads. Its cost depends on their number, not on the
// number of all runs.
//
// A process that was paused and continues beside another leader does no harm. The request id of a wake-up contains
// the length of the log, so the queue accepts it once. A run is marked as parked only if its log still has the length
// that was read, and its next check is set only if the run was not entered again.
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

// lookAfter returns how long after its entry a run is checked: the time after which it could be forgotten. With a
// long grace it is shorter, since a crash may have left something of the run.
func (r *Reconciler) lookAfter() time.Duration { return min(r.cfg.Grace, longestLook) }

// check wakes the runs that nothing else will wake, and sets the next check of each.
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
	// Without a message, the log of a run grows only from outside. So it is read again: it could grow before.
	idles, err := r.store.RunsIdle(ctx, idsOf(idle))
	if err != nil {
		return err
	}
	for i, run := range idle {
		run.Idle = idles[i]
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

// look decides about a run without a message. It returns the time from which the run counts as seen; 0 means that it
// need not be checked again.
func (r *Reconciler) look(ctx context.Context, look world.RunLook) (world.Millis, error) {
	switch {
	case !r.isStill(look.Idle.LastAt):
		return look.Idle.LastAt + world.Millis((r.cfg.Grace - r.lookAfter()).Milliseconds()), nil
	case look.Idle.MarkedIdle:
		return 0, nil
	}
	run, err := r.store.GetRun(ctx, look.RunID, true)
	if err == nil && !run.Status.Terminal() {
		err = r.decide(ctx, run, look.Idle)
	}
	if err != nil {
		if ctx.Err() != nil || world.ErrorCode(err) == world.CodeUnavailable {
			return 0, err
		}
		// A run that cannot be read must not prevent the check of those after it.
		r.cfg.Logger.ErrorContext(ctx, "a run that may be forgotten is skipped", slog.String("run_id", look.RunID), slog.Any("error", err))
	}
	return r.since(0), nil
}

// since returns the entry time for a run whose first message is due at the given time: until then, anything that
// happens to it enters it again. It is still checked occasionally.
func (r *Reconciler) since(due world.Millis) world.Millis {
	now := r.cfg.Clock.Now()
	return max(world.MillisOf(now), min(due, world.MillisOf(now.Add(longestWait))))
}

func (r *Reconciler) isStill(since world.Millis) bool {
	return r.cfg.Clock.Now().Sub(since.Time()) >= r.cfg.Grace
}

// decide wakes a run without a message, or records that it is parked. A run that waits only for hooks is woken once
// for each length of its log, which does not mean that something was lost. Any other run has lost a message.
func (r *Reconciler) decide(ctx context.Context, run world.Run, idle world.RunIdle) error {
	if idle.Hooks {
		state, err := readLog(ctx, r.store, run.RunID)
		if err != nil {
			return err
		}
		if state.parked() {
			switch lacks, err := r.mayLack(ctx, idle.LastAt); {
			case err != nil:
				return err
			case !lacks:
				return r.store.MarkIdle(ctx, run.RunID, idle.Events)
			}
		}
		if state.waitsForHooksOnly() {
			return r.wakeOnce(ctx, run, idle)
		}
	}
	return r.wake(ctx, run, idle, slog.LevelWarn, "a run had nothing that would wake it; it is woken")
}

// wakeOnce wakes a run that may have received a payload which it never processed. The run is parked at a later check, if
// it then has no message and its log is as long as before: it was woken, and had nothing to do. A failover in between
// may have taken back the wake-up or what it did, so then it is woken again.
func (r *Reconciler) wakeOnce(ctx context.Context, run world.Run, idle world.RunIdle) error {
	masters := r.underMasters(ctx)
	if masters != "" && idle.Woken == masters {
		return r.store.MarkIdle(ctx, run.RunID, idle.Events)
	}
	if err := r.wake(ctx, run, idle, slog.LevelInfo, "a run may not have seen everything that its hooks received; it is woken as a precaution"); err != nil || masters == "" {
		return err
	}
	return r.store.NoteWake(ctx, run.RunID, idle.Events, masters)
}

// mayLack reports whether a failover may have taken back what followed the last event of a log: a step, for example,
// that the run began when it created its hook.
func (r *Reconciler) mayLack(ctx context.Context, last world.Millis) (bool, error) {
	masters := r.underMasters(ctx)
	if masters == "" || masters == neverChange {
		return masters == "", nil
	}
	since, err := r.store.MastersSince(ctx, masters)
	return since != 0 && last < since+skew, err
}
