package recovery

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// approval creates a run that has done a step and waits for its hook: its last event is not of a hook.
func (b *bundle) approval(hook string) string {
	b.t.Helper()
	runID := b.begin(3)
	b.hook(runID, 3, hook)
	b.event(runID, 3, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
	b.event(runID, 3, world.EventStepStarted, "step_1")
	b.event(runID, 3, world.EventStepCompleted, "step_1", "result", []byte{1})
	return runID
}

func (b *bundle) idle(runID string) world.RunIdle {
	b.t.Helper()
	idles, err := b.store.RunsIdle(b.t.Context(), []string{runID})
	require.NoError(b.t, err)
	return idles[0]
}

func (b *bundle) length(runID string) int64 {
	b.t.Helper()
	return b.idle(runID).Events
}

// logged makes the reconciler log into a buffer.
func (b *bundle) logged() *bytes.Buffer {
	var out bytes.Buffer
	b.cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	return &out
}

// A run that waits for its hook is not woken once it has seen its whole log: an app acknowledged a delivery that began
// when the log had its present length. It does not matter whether the log itself was read then, or only its length.
func TestARunThatHasLookedAtItsLogIsParked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		log := b.logged()
		p := NewParker(b.store, ParkerConfig{Clock: b.clock})
		read, length := b.approval("hook_1"), b.approval("hook_2")
		payload := b.approval("hook_3")
		b.event(payload, 3, world.EventHookReceived, "hook_3", "token", "token of hook_3", "payload", []byte{1})
		p.LookedAt(read, world.LogSeen{Events: b.length(read), HooksOnly: true, At: b.clock.Now()})
		p.LookedAt(length, world.LogSeen{Events: b.length(length)})
		p.LookedAt(payload, world.LogSeen{Events: b.length(payload)})
		p.LookedAt(payload, world.LogSeen{Events: 2}) // an earlier delivery that ended later
		p.LookedAt("wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", world.LogSeen{Events: 2, HooksOnly: true})
		require.Empty(t, p.due(parkAfter), "the log may grow yet")
		b.clock.Add(parkAfter)
		p.park(t.Context(), p.due(parkAfter))

		b.clock.Add(time.Hour)
		require.NoError(t, b.pass(t.Context()))
		require.Empty(t, b.queue.woken())
		require.Empty(t, log.String())
	})
}

// A lost wake-up is mended nevertheless: the events that came after the delivery had begun were not seen. Such a run is
// woken once for each length of its log, without a warning; a run that lost the message of a step causes a warning.
func TestARunThatHasNotLookedAtItsLogIsWokenOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		log := b.logged()
		p := NewParker(b.store, ParkerConfig{Clock: b.clock})
		looked := func(runID string, whole bool) {
			p.LookedAt(runID, world.LogSeen{Events: b.length(runID), HooksOnly: whole})
		}
		payload, step, open := b.approval("hook_1"), b.approval("hook_2"), b.approval("hook_3")
		looked(payload, true)
		b.event(payload, 3, world.EventHookReceived, "hook_1", "token", "token of hook_1", "payload", []byte{1})
		b.event(step, 3, world.EventStepCreated, "step_2", "stepName", "s", "input", []byte{1})
		looked(step, false)
		b.event(step, 3, world.EventStepCompleted, "step_2", "result", []byte{1})
		b.event(open, 3, world.EventStepCreated, "step_2", "stepName", "s", "input", []byte{1})
		looked(open, false)
		p.park(t.Context(), p.due(0))

		b.clock.Add(time.Hour)
		require.NoError(t, b.pass(t.Context()))
		require.ElementsMatch(t, []string{payload, step, open}, b.queue.woken())
		for runID, level := range map[string]string{payload: "INFO", step: "INFO", open: "WARN"} {
			require.Regexp(t, "level="+level+" msg=[^\n]*woken[^\n]* run_id="+runID, log.String())
		}
		b.queue.requests = map[string]bool{} // the queue has forgotten by now
		b.clock.Add(time.Minute)
		require.NoError(t, b.pass(t.Context()))
		require.Equal(t, []string{open}, b.queue.woken(), "the others once")
	})
}

// The notes are bounded: further runs are left to the Reconciler. Notes are not lost when the service stops.
func TestNotesAreBoundedAndWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	p := NewParker(b.store, ParkerConfig{After: time.Hour})
	runID := b.approval("hook_1")
	p.LookedAt(runID, world.LogSeen{Events: b.length(runID), HooksOnly: true})
	for i := range notesKept {
		p.LookedAt(fmt.Sprint("wrun_", i), world.LogSeen{Events: 1, HooksOnly: true})
	}
	require.Len(t, p.notes, notesKept)
	p.mu.Lock()
	p.notes = map[string]note{runID: p.notes[runID]}
	p.mu.Unlock()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.Run(ended))
	idles, err := b.store.RunsIdle(t.Context(), []string{runID})
	require.NoError(t, err)
	require.True(t, idles[0].MarkedIdle)
}
