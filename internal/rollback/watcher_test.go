package rollback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

const (
	patience = 20 * time.Second
	tick     = time.Millisecond
)

// hasty is a watcher with short waits.
func hasty(masters func(context.Context) ([]string, error), ledger *Ledger) *Watcher {
	return New(Config{Masters: masters, Ledger: ledger, Every: tick, Again: 2 * tick, Settle: 20 * tick})
}

// through runs the watcher until it has handled a change of master.
func through(t *testing.T, w *Watcher) {
	t.Helper()
	looked := false
	require.Eventually(t, func() bool {
		if w.ask(t.Context()) {
			w.tend(t.Context())
		}
		looked = looked || w.looking
		return looked && !w.looking && len(w.homes) == 0
	}, patience, tick)
}

// A master accepts writes that its replica never receives, and dies. Acknowledged calls that are gone are logged and
// listed: a run that was started, and a payload in whose place another one is by now. Replicated calls are not.
func TestWhatAChangeOfMasterLosesIsListed(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	var log bytes.Buffer
	ledger := &Ledger{}
	p.Store = &Recorder{Store: p.store, Ledger: ledger, Home: &Home{Store: p.store, Runs: p.store, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	w := hasty(p.conn.ReplicationIDs, ledger)
	require.True(t, w.ask(t.Context()))

	kept, hookID := p.begin(), p.minter.Prefixed("hook_")
	p.event(kept.RunID, world.EventHookCreated, hookID, map[string]any{"token": "token of " + hookID})
	p.receive(kept.RunID, hookID, "kept")
	p.replicated()
	p.promote()
	started, resumed := p.begin(), p.receive(kept.RunID, hookID, "lost")
	p.switchOver()
	other := p.receive(kept.RunID, hookID, "in its place")
	require.Equal(t, resumed.EventID, other.EventID)
	through(t, w)

	list, err := p.store.ListLost(t.Context(), world.PageRequest{})
	require.NoError(t, err)
	require.ElementsMatch(t, []world.AnsweredCall{
		{Kind: world.AnsweredStart, At: started.CreatedAt, RunID: started.RunID, WorkflowName: "wf"},
		{
			Kind: world.AnsweredResume, At: resumed.CreatedAt, RunID: kept.RunID, WorkflowName: "wf", EventID: resumed.EventID,
			HookID: hookID, Token: "token of " + hookID,
		},
	}, list.Data)
	require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"), log.String())
	require.Contains(t, log.String(), "start it again\" run_id="+started.RunID)
	require.Contains(t, log.String(), "hook="+hookID)
	require.NotContains(t, log.String(), "token of", "who knows it may resume")

	// The next change finds no new loss, and nothing is reported twice.
	w.known = []string{"of another master"}
	through(t, w)
	list, err = p.store.ListLost(t.Context(), world.PageRequest{})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)
	require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"))
}

// losses is a store in which its runs are missing.
type losses struct {
	world.RunStore
	missing map[string]bool
	refuse  error
	noted   []world.AnsweredCall

	relisted []string // kind and run
}

func (l *losses) MissingCalls(_ context.Context, calls []world.AnsweredCall) ([]bool, error) {
	out := make([]bool, len(calls))
	for i, c := range calls {
		out[i] = l.missing[c.RunID]
	}
	return out, l.refuse
}

func (l *losses) NoteLost(_ context.Context, calls []world.AnsweredCall) error {
	if l.refuse == nil {
		l.noted = append(l.noted, calls...)
	}
	return l.refuse
}

func (l *losses) Relist(_ context.Context, calls []world.AnsweredCall) (int, error) {
	for _, c := range calls {
		l.relisted = append(l.relisted, string(c.Kind)+" "+c.RunID)
	}
	return 0, l.refuse
}

func (l *losses) ListLost(context.Context, world.PageRequest) (world.Page[world.AnsweredCall], error) {
	return world.Page[world.AnsweredCall]{}, nil
}

func (l *losses) home() *Home { return &Home{Store: l, Runs: l, Logger: slog.New(slog.DiscardHandler)} }

func started(runID string) world.AnsweredCall {
	return world.AnsweredCall{Kind: world.AnsweredStart, RunID: runID, WorkflowName: "wf"}
}

// The message of a missing run may create it again. So a run is lost only if it is missing twice.
func TestARunThatIsBroughtAgainIsNotLost(t *testing.T) {
	t.Parallel()
	store, ledger := &losses{missing: map[string]bool{"wrun_1": true, "wrun_2": true}}, &Ledger{}
	home := store.home()
	for _, runID := range []string{"wrun_1", "wrun_2", "wrun_3"} {
		ledger.add(home, started(runID), time.Now())
	}
	w := hasty(nil, ledger)
	require.NoError(t, w.look(t.Context()))
	require.Empty(t, store.noted)
	delete(store.missing, "wrun_1")
	w.cfg.Again = 0
	require.NoError(t, w.look(t.Context()))
	require.Equal(t, []world.AnsweredCall{started("wrun_2")}, store.noted)
	require.Empty(t, w.suspect)
}

// While Redis is away nothing is forgotten, and a loss that cannot be entered into the list is entered later.
func TestAnOutageForgetsNothing(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	store, ledger := &losses{missing: map[string]bool{"wrun_1": true}}, &Ledger{}
	home := store.home()
	master, refusal := "one", error(nil)
	w := hasty(func(context.Context) ([]string, error) { return []string{master}, refusal }, ledger)
	require.True(t, w.ask(t.Context()))

	ledger.add(home, started("wrun_1"), time.Now().Add(-time.Hour))
	refusal, store.refuse = away, away
	require.False(t, w.ask(t.Context()))
	refusal, master = nil, "two"
	require.True(t, w.ask(t.Context()))
	w.tend(t.Context())
	require.True(t, w.looking, "the look failed")
	store.refuse = nil
	through(t, w)
	require.Equal(t, []world.AnsweredCall{started("wrun_1")}, store.noted)

	require.True(t, w.ask(t.Context()))
	w.tend(t.Context())
	require.Equal(t, ledger.first(), ledger.next(), "it is old, and Redis is there")
}

// The entry of a lost call is repeated until Redis accepts it.
func TestALossIsEnteredUntilRedisTakesIt(t *testing.T) {
	t.Parallel()
	store := &losses{refuse: errors.New("out of memory")}
	w := hasty(nil, &Ledger{})
	home := store.home()
	w.tell(t.Context(), home, []world.AnsweredCall{started("wrun_1")})
	w.tell(t.Context(), home, []world.AnsweredCall{started("wrun_2")})
	w.save(t.Context())
	require.Empty(t, store.noted)
	store.refuse = nil
	w.save(t.Context())
	w.save(t.Context())
	w.tell(t.Context(), home, []world.AnsweredCall{started("wrun_3")})
	w.save(t.Context())
	require.Equal(t, []world.AnsweredCall{started("wrun_1"), started("wrun_2"), started("wrun_3")}, store.noted)
}

// Of many lost calls, the log names a hundred and the number of the others. The list has all.
func TestTheLogNamesAHundredLostCalls(t *testing.T) {
	t.Parallel()
	store, ledger := &losses{missing: map[string]bool{}}, &Ledger{}
	home := store.home()
	var log bytes.Buffer
	home.Logger = slog.New(slog.NewTextHandler(&log, nil))
	for i := range 500 {
		runID := fmt.Sprintf("wrun_%d", i)
		store.missing[runID] = true
		ledger.add(home, started(runID), time.Now())
	}
	w := hasty(nil, ledger)
	w.cfg.Again = 0
	require.NoError(t, w.look(t.Context()))
	require.NoError(t, w.look(t.Context()))
	require.Equal(t, 101, strings.Count(log.String(), "level=ERROR"))
	require.Equal(t, 1, strings.Count(log.String(), "calls=400"))
	require.Len(t, store.noted, 500)
}

// A change of master may lose the end of a run, or a run's entry in the lists, which on a cluster is on another master.
// What was answered and is there is listed again, and a run whose end is gone goes on.
func TestRunsAreListedAgainAfterAChangeOfMaster(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	ledger := &Ledger{}
	p.Store = &Recorder{Store: p.store, Ledger: ledger, Home: &Home{Store: p.store, Runs: p.store, Logger: slog.New(slog.DiscardHandler)}}
	w := hasty(p.conn.ReplicationIDs, ledger)
	require.True(t, w.ask(t.Context()))
	started, ends := p.begin().RunID, p.begin().RunID
	p.event(ends, world.EventRunStarted, "", nil)
	p.replicated()
	p.promote()
	p.event(ends, world.EventRunCompleted, "", nil)
	p.switchOver()
	const watch = "workflow:runs:watch"
	require.Eventually(t, func() bool { return p.conn.Client.ZRem(t.Context(), watch, started, ends).Err() == nil }, patience, tick)
	require.Zero(t, p.conn.Client.ZCard(t.Context(), watch).Val())
	through(t, w)

	require.ElementsMatch(t, []string{started, ends}, p.conn.Client.ZRange(t.Context(), watch, 0, -1).Val())
	list, err := p.store.ListLost(t.Context(), world.PageRequest{})
	require.NoError(t, err)
	require.Empty(t, list.Data)
}

// Calls that are gone are not listed again; while the lists refuse entries, the look is repeated.
func TestOnlyWhatIsThereIsListedAgain(t *testing.T) {
	t.Parallel()
	store, ledger := &losses{missing: map[string]bool{"wrun_1": true, "wrun_3": true}}, &Ledger{}
	home := store.home()
	for _, runID := range []string{"wrun_1", "wrun_2"} {
		ledger.add(home, started(runID), time.Now())
	}
	ledger.add(home, world.AnsweredCall{Kind: world.AnsweredEnd, RunID: "wrun_3"}, time.Now())
	w := hasty(nil, ledger)
	w.cfg.Again = 0
	require.NoError(t, w.look(t.Context()))
	require.NoError(t, w.look(t.Context()))
	require.Equal(t, []string{"end wrun_3", "start wrun_2", "end wrun_3", "start wrun_2"}, store.relisted)
	require.Equal(t, []world.AnsweredCall{started("wrun_1")}, store.noted, "an end is no loss")
}
