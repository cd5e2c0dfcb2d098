package rollback

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	keptFor     = 5 * time.Minute
	askTimeout  = 5 * time.Second
	portion     = 200                   // calls looked up at a time
	portionRest = 50 * time.Millisecond // pause between two portions: 4,000 calls a second
	saidAtOnce  = 100                   // lost calls with their own log line, per look
)

// Config configures a Watcher. The zero value of a field means its default.
type Config struct {
	// Masters returns the replication id of each master; it fails while one of them is unavailable.
	Masters func(ctx context.Context) ([]string, error)
	Ledger  *Ledger
	Logger  *slog.Logger
	Every   time.Duration // between two reads of the masters; 5 s
	// Again is the time between two looks after a change of master, and Settle how long they continue: until then, a
	// connection to the old master may have accepted writes, and a message may have restored a run. 10 s and 30 s.
	Again, Settle time.Duration
}

// Watcher looks up answered calls after a change of master.
type Watcher struct {
	cfg     Config
	known   []string // replication ids of the masters
	changed time.Time
	looked  time.Time
	looking bool              // a change is being checked
	suspect map[int]time.Time // calls that were missing at a look, by number, and when first
	homes   []*Home           // namespaces with unsaved calls
	said    int               // lost calls with their own log line, in this look
}

// New returns a Watcher.
func New(cfg Config) *Watcher {
	if cfg.Every <= 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Again <= 0 {
		cfg.Again = 10 * time.Second
	}
	if cfg.Settle <= 0 {
		cfg.Settle = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Watcher{cfg: cfg, suspect: map[int]time.Time{}}
}

// Run watches until ctx ends. While nothing is remembered it sends nothing to Redis.
func (w *Watcher) Run(ctx context.Context) error {
	w.ask(ctx)
	ticker := time.NewTicker(w.cfg.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		w.save(ctx)
		if w.cfg.Ledger.first() == w.cfg.Ledger.next() && !w.looking {
			continue
		}
		if w.ask(ctx) {
			w.tend(ctx)
		}
	}
}

// ask reports whether the masters have changed. While Redis does not say, it returns false and nothing is forgotten:
// calls answered before an outage are looked up after it, however long it lasts.
func (w *Watcher) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ids, err := w.cfg.Masters(ctx)
	if err != nil {
		w.cfg.Logger.DebugContext(ctx, "the masters of Redis are not known", slog.Any("error", err))
		return false
	}
	if w.known != nil && slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(w.known, id) }) {
		w.looking, w.changed, w.looked = true, time.Now(), time.Time{}
		w.cfg.Logger.InfoContext(ctx, "Redis has another master, or was restarted; the starts and resumes of the last minutes are checked",
			slog.Int("calls", w.cfg.Ledger.next()-w.cfg.Ledger.first()))
	}
	w.known = ids
	return true
}

// tend makes the next look if it is due, and otherwise forgets old entries.
func (w *Watcher) tend(ctx context.Context) {
	switch {
	case !w.looking:
		w.cfg.Ledger.forget(time.Now().Add(-keptFor))
	case time.Since(w.looked) >= w.cfg.Again:
		began := time.Now()
		if err := w.look(ctx); err != nil {
			w.cfg.Logger.DebugContext(ctx, "the acknowledged calls could not be looked up; this is retried", slog.Any("error", err))
			return
		}
		w.looked = began
		w.looking = len(w.suspect) > 0 || began.Sub(w.changed) < w.cfg.Settle
	}
}

// look looks up the remembered calls. A call that is missing twice is lost: between the two looks a message may
// restore its run.
func (w *Watcher) look(ctx context.Context) error {
	before := w.cfg.Ledger.next()
	w.said = 0
	defer w.sayRest(ctx)
	for from := 0; ; {
		part := w.cfg.Ledger.after(from, before, portion)
		if len(part) == 0 {
			break
		}
		from = part[len(part)-1].number + 1
		byHome := map[*Home][]numbered{}
		for _, e := range part {
			byHome[e.home] = append(byHome[e.home], e)
		}
		for home, entries := range byHome {
			if err := w.compare(ctx, home, entries); err != nil {
				return err
			}
		}
		timer := time.NewTimer(portionRest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
	for number := range w.suspect {
		if number < w.cfg.Ledger.first() {
			delete(w.suspect, number) // dropped for lack of space
		}
	}
	w.sayRest(ctx)
	w.save(ctx)
	return nil
}

// compare looks up calls of a namespace, and has the runs of those that are there entered into the lists again.
func (w *Watcher) compare(ctx context.Context, home *Home, all []numbered) error {
	entries := make([]numbered, 0, len(all))
	calls, relist := make([]world.AnsweredCall, 0, len(all)), make([]world.AnsweredCall, 0, len(all))
	for _, e := range all {
		if e.call.Kind == world.AnsweredEnd {
			relist = append(relist, e.call)
			continue
		}
		entries, calls = append(entries, e), append(calls, e.call)
	}
	missing, err := home.Store.MissingCalls(ctx, calls)
	if err != nil {
		return err
	}
	for i, call := range calls {
		if !missing[i] {
			relist = append(relist, call)
		}
	}
	takenBack, err := home.Store.Relist(ctx, relist)
	if err != nil {
		return err
	}
	if takenBack > 0 {
		home.Logger.InfoContext(ctx, "the ends of runs were lost with their Redis master; the runs go on", slog.Int("runs", takenBack))
	}
	var lost []world.AnsweredCall
	now := time.Now()
	for i, e := range entries {
		first, suspected := w.suspect[e.number]
		switch {
		case !missing[i]:
			delete(w.suspect, e.number)
		case !suspected:
			w.suspect[e.number] = now
		case now.Sub(first) >= w.cfg.Again/2: // missing at an earlier look
			delete(w.suspect, e.number)
			w.cfg.Ledger.settle(e.number)
			lost = append(lost, e.call)
		}
	}
	if len(lost) > 0 {
		w.tell(ctx, home, lost)
	}
	return nil
}

// tell logs lost calls and adds them to the list.
func (w *Watcher) tell(ctx context.Context, home *Home, lost []world.AnsweredCall) {
	nameWorkflows(ctx, home.Runs, lost)
	for _, c := range lost {
		if w.said++; w.said > saidAtOnce {
			home.unsaid++
			continue
		}
		about := []any{slog.String("run_id", c.RunID), slog.String("workflow", c.WorkflowName), slog.Time("answered", c.At.Time())}
		text := "an acknowledged start was lost with its Redis master; start it again"
		if c.Kind == world.AnsweredResume {
			text = "an acknowledged resume was lost with its Redis master; resume the hook again"
			about = append(about, slog.String("hook", c.HookID))
		}
		home.Logger.ErrorContext(ctx, text, about...)
	}
	if !slices.Contains(w.homes, home) {
		w.homes = append(w.homes, home)
	}
	home.unsaved = append(home.unsaved, lost...)
	home.unsaved = home.unsaved[max(0, len(home.unsaved)-world.MaxLostCalls):]
}

// sayRest logs how many further calls were lost without their own log line.
func (w *Watcher) sayRest(ctx context.Context) {
	for _, home := range w.homes {
		if home.unsaid > 0 {
			home.Logger.ErrorContext(ctx, "more acknowledged starts and resumes were lost; `world-redis runs lost` lists them", slog.Int("calls", home.unsaid))
			home.unsaid = 0
		}
	}
}

// nameWorkflows looks up the workflows of resumes. It is no problem if they are unknown.
func nameWorkflows(ctx context.Context, store world.RunStore, calls []world.AnsweredCall) {
	var runIDs []string
	for _, c := range calls {
		if c.WorkflowName == "" && !slices.Contains(runIDs, c.RunID) {
			runIDs = append(runIDs, c.RunID)
		}
	}
	names := map[string]string{}
	for len(runIDs) > 0 {
		runs, err := store.GetRuns(ctx, runIDs, true)
		if err != nil || len(runs) == 0 {
			break
		}
		for i, run := range runs {
			if run != nil {
				names[runIDs[i]] = run.WorkflowName
			}
		}
		runIDs = runIDs[len(runs):]
	}
	for i := range calls {
		if calls[i].WorkflowName == "" {
			calls[i].WorkflowName = names[calls[i].RunID]
		}
	}
}

// save writes lost calls to the lists; what Redis refuses is retried.
func (w *Watcher) save(ctx context.Context) {
	w.homes = slices.DeleteFunc(w.homes, func(home *Home) bool {
		if err := home.Store.NoteLost(ctx, home.unsaved); err != nil {
			w.cfg.Logger.DebugContext(ctx, "lost calls could not be listed; this is retried", slog.Any("error", err))
			return false
		}
		home.unsaved = nil
		return true
	})
}
