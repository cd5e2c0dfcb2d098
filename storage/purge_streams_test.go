package storage

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// purges records the calls of a store about the streams of runs.
type purges struct {
	mu    sync.Mutex
	runs  []string
	fails bool
}

func (p *purges) purge(_ context.Context, runID string) error {
	if p.fails {
		return world.Errorf(world.CodeUnavailable, "the streams are away")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = append(p.runs, runID)
	return nil
}

func purgingBundle(t *testing.T, r *redistest.Redis) (*bundle, *purges) {
	t.Helper()
	p := &purges{}
	b := newBundle(t, r).on(t, 7)
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: b.clock, PurgeStreams: p.purge})
	require.NoError(t, err)
	b.Store = store
	return b, p
}

// keepsNothing creates and starts a run with zero retention.
func (b *bundle) keepsNothing() string {
	b.t.Helper()
	runID := b.send("", world.EventRunCreated, "", b.runDataKeepingNothing()).Run.RunID
	b.send(runID, world.EventRunStarted, "", nil)
	return runID
}

func (b *bundle) runDataKeepingNothing() world.Fields {
	return append(b.runData(), data(b.t, "attributes", map[string]string{"$retention": "0"}, "allowReservedAttributes", true)...)
}

// ends are the ways in which a run can end, each as one call.
func ends(b *bundle) map[string]func(runID, request string) error {
	out := map[string]func(runID, request string) error{
		"batch": func(runID, request string) error {
			event := b.request(runID, world.EventRunCompleted, "", data(b.t, "output", 1))
			_, err := b.CreateBatch(b.ctx, world.CreateBatch{RunID: runID, RequestID: request, Events: []world.CreateEvent{event}})
			return err
		},
		"cancel many": func(runID, request string) error {
			results, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{runID}, RequestID: request})
			if err == nil && results[0].Outcome != world.Cancelled {
				err = world.Errorf(results[0].Code, "%s", results[0].Outcome)
			}
			return err
		},
	}
	for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
		out[string(end)] = func(runID, request string) error {
			req := b.request(runID, end, "", sample(b, end))
			req.RequestID = request
			_, err := b.CreateEvent(b.ctx, req)
			return err
		}
	}
	return out
}

// However a run with zero retention ends, its streams are removed before the call returns. If that fails, the call
// fails and its repeat removes them; without a repeat the sweeper does.
func TestStreamsOfARunThatKeepsNothingGoAtItsEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b, p := purgingBundle(t, r)
		for name, end := range ends(b) {
			kept, once, repeated, swept := b.running(), b.keepsNothing(), b.keepsNothing(), b.keepsNothing()
			p.runs = nil
			require.NoError(t, end(kept, "kept"+name))
			require.Empty(t, p.runs)
			require.NoError(t, end(once, "once"+name))
			require.Equal(t, []string{once}, p.runs, name)

			p.fails = true
			for _, runID := range []string{repeated, swept} {
				require.Equal(t, world.CodeUnavailable, world.ErrorCode(end(runID, runID)), name)
				require.Contains(t, b.listed(b.index.Keys.ByStatus(world.RunRunning)), runID, "otherwise the sweeper would not find it")
			}
			p.fails = false
			require.NoError(t, end(repeated, repeated))
			require.Equal(t, []string{once, repeated}, p.runs, name)
			b.clock.Add(2 * time.Minute)
			require.Equal(t, 1, b.sweep())
			require.Equal(t, []string{once, repeated, swept}, p.runs, name)
			require.Zero(t, b.sweep())
			b.check(kept, once, repeated, swept)
		}
	})
}

// The process died between the end of the run and the removal of its streams. Whatever call comes next, the run stays
// where the sweeper finds it until its streams are gone.
func TestCrashBeforeTheStreamsAreGone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b, p := purgingBundle(t, r)
		for name, next := range map[string]func(runID string) error{
			"nothing": func(string) error { return nil },
			"a redelivery that brings the input": func(runID string) error {
				_, err := b.try(runID, world.EventRunStarted, "", b.runData())
				return err
			},
			"the repeat of run_started": func(runID string) error {
				req := b.request(runID, world.EventRunStarted, "", nil)
				req.RequestID = "start"
				_, err := b.CreateEvent(b.ctx, req)
				return err
			},
			"a late run_created": func(runID string) error {
				_, err := b.try(runID, world.EventRunCreated, "", b.runDataKeepingNothing())
				return err
			},
			"a second cancel of many": func(runID string) error {
				_, err := b.CancelRuns(b.ctx, world.CancelRuns{RunIDs: []string{runID}})
				return err
			},
		} {
			for _, lists := range []string{"alive", "dead"} {
				p.runs, p.fails = nil, false
				runID := b.send("", world.EventRunCreated, "", b.runDataKeepingNothing()).Run.RunID
				start := b.request(runID, world.EventRunStarted, "", nil)
				start.RequestID = "start"
				_, err := b.CreateEvent(b.ctx, start)
				require.NoError(t, err)
				p.fails = true
				_, err = b.try(runID, world.EventRunCancelled, "", nil)
				require.Equal(t, world.CodeUnavailable, world.ErrorCode(err))
				p.fails = lists == "dead"
				err = next(runID)
				require.Contains(t, []world.Code{"", world.CodeConflict, world.CodeRunExpired, world.CodeUnavailable}, world.ErrorCode(err))
				p.fails = false
				b.clock.Add(2 * time.Minute)
				b.sweep()
				require.Contains(t, p.runs, runID, "%s, streams %s", name, lists)
				require.Zero(t, b.sweep())
				b.check(runID)
			}
		}
	})
}

// The caller disconnects when the run has ended: its streams are removed nevertheless.
func TestStreamsGoThoughTheCallerHasGone(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	purged := make(chan error, 1)
	b := newBundle(t, r).on(t, 7)
	store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: b.clock, PurgeStreams: func(ctx context.Context, _ string) error {
		cancel()
		purged <- ctx.Err()
		return nil
	}})
	require.NoError(t, err)
	b.Store = store
	runID := b.keepsNothing()
	_, err = b.CreateEvent(ctx, b.request(runID, world.EventRunCancelled, "", nil))
	require.NoError(t, err)
	require.NoError(t, <-purged)
	b.check(runID)
}
