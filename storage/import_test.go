package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// elsewhere is another store in the same Redis, with the same clock.
func (b *bundle) elsewhere(name ...any) *bundle {
	b.t.Helper()
	there := redistest.Redis{Client: b.redis.Client, Prefix: fmt.Sprint(name...) + "there:" + b.redis.Prefix}
	store, err := New(b.ctx, there.Client, Config{Prefix: there.Prefix, Clock: b.clock})
	require.NoError(b.t, err)
	return &bundle{Store: store, t: b.t, ctx: b.ctx, redis: &there, clock: b.clock, spec: b.spec}
}

// copyOf makes a copy by the reads of the API.
func (b *bundle) copyOf(runID string) *world.RunCopy {
	b.t.Helper()
	run, err := b.GetRun(b.ctx, runID, false)
	require.NoError(b.t, err)
	var parts []world.RunPart
	for _, e := range b.all(runID, "") {
		parts = append(parts, world.RunPart{Event: &e})
	}
	steps, err := b.ListSteps(b.ctx, world.StepQuery{RunID: runID, Page: world.PageRequest{Limit: 1000, Order: world.Ascending}})
	require.NoError(b.t, err)
	for _, step := range steps.Data {
		parts = append(parts, world.RunPart{Step: &step})
	}
	hooks, err := b.ListHooks(b.ctx, world.HookQuery{RunID: runID, Page: world.PageRequest{Limit: 1000}})
	require.NoError(b.t, err)
	for _, h := range hooks.Data {
		parts = append(parts, world.RunPart{Hook: &world.HookCopy{Hook: h}})
	}
	return &world.RunCopy{Run: run, Events: int64(len(b.all(runID, ""))), Parts: partsOf(parts)}
}

func partsOf(parts []world.RunPart) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		for _, p := range parts {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func noStreams(context.Context) error { return nil }

// slot returns the keys of a run's slot with what they hold. Nonces of claims differ from one store to another, and what expires
// is of calls in progress.
func (b *bundle) slot(runID string) map[string]any {
	b.t.Helper()
	k, client := b.keys.of(runID), b.redis.Client
	out := map[string]any{}
	for _, key := range b.keysLike(b.keys.prefix + "*{" + runID + "}*") {
		short := strings.TrimPrefix(key, b.keys.prefix)
		switch {
		case strings.HasPrefix(short, "request:"):
		case key == k.hooks():
			hooks := client.HGetAll(b.ctx, key).Val()
			for id, h := range hooks {
				parts := strings.Split(h, " ")
				parts[1] = "nonce"
				hooks[id] = strings.Join(parts, " ")
			}
			out[short] = hooks
		case client.Type(b.ctx, key).Val() == "zset":
			out[short] = client.ZRangeWithScores(b.ctx, key, 0, -1).Val()
		default:
			fields := client.HGetAll(b.ctx, key).Val()
			maps.DeleteFunc(fields, func(field, _ string) bool { return key == k.run() && (field == "rb" || field == "rs") })
			if key == k.resumes() {
				for id, value := range fields {
					fields[id] = value[:strings.LastIndexByte(value, ' ')] // a digest protects calls in progress
				}
			}
			out[short] = fields
		}
	}
	return out
}

// lists returns the lists that have a run, but for the watch.
func (b *bundle) listsOf(runID string) (lists []string) {
	b.t.Helper()
	for _, key := range b.keysLike(b.keys.prefix + "runs:*") {
		if key != b.index.Keys.Watch() && b.redis.Client.ZScore(b.ctx, key, runID).Err() == nil {
			lists = append(lists, strings.TrimPrefix(key, b.keys.prefix))
		}
	}
	slices.Sort(lists)
	return lists
}

// imports imports a run, and asserts that it is the same there as here.
func (b *bundle) imports(there *bundle, runID string) {
	b.t.Helper()
	did, err := there.ImportRun(b.ctx, b.copyOf(runID), noStreams)
	require.NoError(b.t, err, "%s", runID)
	require.Equal(b.t, world.RunImported, did)
	there.quiet()
	if b.copyOf(runID).Run.ExpiredAt == 0 { // a record without its payload says where it was
		require.Equal(b.t, b.slot(runID), there.slot(runID))
	}
	require.Equal(b.t, b.listsOf(runID), there.listsOf(runID))
	require.Equal(b.t, b.copyParts(runID), there.copyParts(runID))
	did, err = there.ImportRun(b.ctx, b.copyOf(runID), noStreams)
	require.NoError(b.t, err)
	require.Equal(b.t, world.RunImportedBefore, did)
}

func (b *bundle) copyParts(runID string) []any {
	b.t.Helper()
	c := b.copyOf(runID)
	out := []any{c.Run}
	for part, err := range c.Parts {
		require.NoError(b.t, err)
		out = append(out, part)
	}
	return out
}

// An imported run has the ids, times, order and bytes that it had, in every state and in every spec version.
func TestAnImportedRunIsTheSame(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{2, 3, 5, 7} {
			b := newBundle(t, r).on(t, spec)
			there := b.elsewhere()
			name := fmt.Sprintf("_i%d", spec)
			pending := b.newRun()
			goesOn, ended := b.full(name, false), b.full(name+"e", true)
			b.clock.Add(24 * time.Hour * 40) // a run is imported however old it is
			failed, cancelled := b.running(), b.running()
			b.send(failed, world.EventStepCreated, "step_f"+name, sample(b, world.EventStepCreated))
			b.send(failed, world.EventStepStarted, "step_f"+name, nil)
			b.send(failed, world.EventStepRetrying, "step_f"+name, sample(b, world.EventStepRetrying))
			b.send(failed, world.EventRunFailed, "", sample(b, world.EventRunFailed))
			b.send(cancelled, world.EventRunCancelled, "", nil)
			b.quiet()
			for _, runID := range []string{pending, goesOn, ended, failed, cancelled} {
				b.imports(there, runID)
			}
			there.check(goesOn, ended, failed, cancelled)

			// It goes on there, and its hook has its token.
			hook, err := there.GetHookByToken(b.ctx, "t1"+name, false)
			require.NoError(t, err)
			require.Equal(t, goesOn, hook.RunID)
			_, err = there.CreateEvent(b.ctx, there.resume(goesOn, hook.HookID, "resume_2", "d"))
			require.NoError(t, err)
			there.send(goesOn, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
			there.quiet()
			there.check(goesOn)
			require.Contains(t, there.dueIDs(), pending, "recovery looks at it")
		}
	})
}

func (b *bundle) dueIDs() (runIDs []string) {
	b.t.Helper()
	for _, look := range b.dueAfter(time.Hour) {
		runIDs = append(runIDs, look.RunID)
	}
	return runIDs
}

// A run that keeps nothing has nothing there either, and a hook keeps its token after the end of its run.
func TestImportedRunsKeepWhatTheyKept(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		there := b.elsewhere()
		nothing := b.keepsNothing()
		b.send(nothing, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		keeps := b.running()
		b.send(keeps, world.EventHookCreated, "hook_kept", data(t, "token", "kept", "tokenRetentionUntil", b.clock.Now().Add(time.Hour).UnixMilli()))
		b.send(keeps, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		large := b.running()
		b.waits(large, "w", 350)
		b.send(large, world.EventRunFailed, "", sample(b, world.EventRunFailed))
		b.quiet()
		for _, runID := range []string{nothing, keeps, large} {
			b.imports(there, runID)
		}
		hook, err := there.GetHookByToken(b.ctx, "kept", false)
		require.NoError(t, err)
		require.Equal(t, keeps, hook.RunID)
	})
}

// A run of the legacy calls has its values in its entities.
func TestALegacyRunIsImported(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		there := b.elsewhere()
		goesOn, ended := b.legacyRun().RunID, b.legacyRun().RunID
		for _, runID := range []string{goesOn, ended} {
			b.update(runID, world.RunRunning)
			_, err := b.CreateLegacyStep(b.ctx, world.CreateLegacyStep{RunID: runID, StepID: "step_" + runID, StepName: "s", Input: raw(t, []int{1})})
			require.NoError(t, err)
			_, err = b.CreateLegacyEvent(b.ctx, world.CreateLegacyEvent{RunID: runID, Type: world.LegacyWorkflowStarted})
			require.NoError(t, err)
			_, err = b.CreateLegacyHook(b.ctx, world.CreateLegacyHook{RunID: runID, HookID: "hook_" + runID, Token: "token " + runID, Metadata: raw(t, "m")})
			require.NoError(t, err)
		}
		b.update(ended, world.RunCompleted)
		b.quiet()
		for _, runID := range []string{goesOn, ended} {
			did, err := there.ImportRun(b.ctx, b.copyOf(runID), noStreams)
			require.NoError(t, err)
			require.Equal(t, world.RunImported, did)
			there.quiet()
			require.Equal(t, b.copyParts(runID), there.copyParts(runID))
			require.Equal(t, b.listsOf(runID), there.listsOf(runID))
		}
		hook, err := there.GetHookByToken(b.ctx, "token "+goesOn, false)
		require.NoError(t, err)
		require.Equal(t, goesOn, hook.RunID)
		did, err := there.ImportRun(b.ctx, b.copyOf(goesOn), noStreams)
		require.NoError(t, err)
		require.Equal(t, world.RunImportedBefore, did)
	})
}

// An import that is interrupted anywhere shows nothing, and its repeat completes it.
func TestAnInterruptedImportContinues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		there := b.elsewhere()
		runID := b.full("_x", false)
		c := b.copyOf(runID)
		broken := errors.New("the file ends")
		events := len(b.all(runID, ""))
		for n := range events {
			cut := &world.RunCopy{Run: c.Run, Events: c.Events, Parts: func(yield func(world.RunPart, error) bool) {
				at := 0
				for part, err := range c.Parts {
					if at == n+1 {
						yield(world.RunPart{}, broken)
						return
					}
					if at++; !yield(part, err) {
						return
					}
				}
			}}
			// The tokens are looked at first, so a file that ends early is noticed before anything is written.
			_, err := there.ImportRun(b.ctx, cut, noStreams)
			require.ErrorIs(t, err, broken)
			// A process that ends in the middle of the events.
			i := &runImport{store: there.Store, copy: c, keys: there.keys.of(runID)}
			_, err = i.look(b.ctx)
			require.NoError(t, err)
			i.copy = cut
			require.ErrorIs(t, i.replayFor(b.ctx), broken)
			require.Empty(t, there.listsOf(runID))
		}
		_, err := there.ImportRun(b.ctx, c, func(context.Context) error { return broken })
		require.ErrorIs(t, err, broken)
		require.Empty(t, there.listsOf(runID), "its streams are not complete")
		b.imports(there, runID)
	})
}

// replayFor sends each event by itself.
func (i *runImport) replayFor(ctx context.Context) error {
	b := importBatch{runImport: i}
	for part, err := range i.copy.Parts {
		if err != nil {
			return err
		}
		if i.passed < i.have {
			i.passed++
			continue
		}
		if err := errors.Join(b.add(ctx, *part.Event), b.send(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// Another World may have written events that are refused here: they are left out, also if the import was interrupted.
func TestAForeignLogIsImported(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 3)
		runID := b.full("_f", true)
		events := b.all(runID, "")
		end := events[len(events)-1]
		var parts []world.RunPart
		for at, e := range events {
			parts = append(parts, world.RunPart{Event: &e})
			if at == 1 || e.Type == world.EventStepCompleted {
				twice := e
				twice.EventID += "_again"
				parts = append(parts, world.RunPart{Event: &twice})
			}
		}
		late := end
		late.EventID, late.Type = "late", world.EventRunFailed
		parts = append(parts, world.RunPart{Event: &late})
		c := b.copyOf(runID)
		foreign := func(parts ...world.RunPart) *world.RunCopy {
			return &world.RunCopy{Run: c.Run, Foreign: true, Parts: partsOf(parts)}
		}
		for cut := 0; cut < len(parts); cut += 4 {
			there := b.elsewhere(cut)
			i := &runImport{store: there.Store, copy: foreign(parts[:cut]...), keys: there.keys.of(runID)}
			if cut > 0 {
				require.NoError(t, i.replay(b.ctx), "a process that ends here")
			}
			did, err := there.ImportRun(b.ctx, foreign(parts...), noStreams)
			require.NoError(t, err)
			require.Equal(t, world.RunImported, did)
			there.quiet()
			run, err := there.GetRun(b.ctx, runID, false)
			require.NoError(t, err)
			require.Equal(t, c.Run, run)
			require.Equal(t, events, there.all(runID, ""))
		}
	})
}

// What cannot be imported is refused with a sentence, and changes nothing.
func TestImportsThatAreRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		there := b.elsewhere()
		refused := func(c *world.RunCopy, code world.Code, sentence string) {
			t.Helper()
			_, err := there.ImportRun(b.ctx, c, noStreams)
			require.Equal(t, code, world.ErrorCode(err), "%v", err)
			require.ErrorContains(t, err, sentence)
		}
		removed := b.full("_r", true)
		b.imports(there, removed)
		require.NoError(t, there.RemoveRun(b.ctx, removed))
		refused(b.copyOf(removed), world.CodeConflict, "was removed here")

		token := there.running()
		there.send(token, world.EventHookCreated, "hook_here", data(t, "token", "t1_t"))
		holds := b.full("_t", false)
		refused(b.copyOf(holds), world.CodeConflict, "belongs to a hook of run")
		require.Empty(t, there.slot(holds))

		longer := b.running()
		short := b.copyOf(longer)
		b.send(longer, world.EventRunCompleted, "", sample(b, world.EventRunCompleted))
		_, err := there.ImportRun(b.ctx, short, noStreams)
		require.NoError(t, err)
		refused(b.copyOf(longer), world.CodeConflict, "is here already, with 2 events; its copy has 3")

		other := b.running()
		c := b.copyOf(other)
		b.imports(there, other)
		b.clock.Add(time.Second)
		changed := b.all(other, "")[0]
		changed.CreatedAt++
		refused(&world.RunCopy{Run: c.Run, Parts: partsOf([]world.RunPart{{Event: &changed}})}, world.CodeConflict, "event 0 differs")

		wrong := b.running()
		events := b.all(wrong, "")
		c = b.copyOf(wrong)
		refused(&world.RunCopy{Run: c.Run, Parts: partsOf([]world.RunPart{{Event: &events[1]}})}, world.CodeInvalid, "that the events before it do not allow")
		refused(&world.RunCopy{Run: c.Run, Events: 1, Parts: partsOf([]world.RunPart{{Event: &events[0]}})}, world.CodeInvalid, "after its events it is pending")
		refused(&world.RunCopy{Run: b.copyOf(b.running()).Run, Parts: partsOf(nil)}, world.CodeInvalid, "has no events")
		refused(&world.RunCopy{Run: world.Run{RunID: "wrun_x"}, Parts: partsOf(nil)}, world.CodeInvalid, "has no workflow")
	})
}

// An imported run that has ended leaves Redis when its time is over.
func TestAnImportedRunIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		runID := b.full("_d", true)
		keep, err := world.ParseRetention("completed=1h")
		require.NoError(t, err)
		there := b.elsewhere()
		store, err := New(b.ctx, r.Client, Config{Prefix: there.redis.Prefix, Clock: b.clock, Retention: keep})
		require.NoError(t, err)
		there.Store = store
		_, err = there.ImportRun(b.ctx, b.copyOf(runID), noStreams)
		require.NoError(t, err)
		there.quiet()
		run, err := there.GetRun(b.ctx, runID, true)
		require.NoError(t, err)
		due := r.Client.ZScore(b.ctx, there.index.Keys.Due(), runID).Val()
		require.Equal(t, float64(run.CompletedAt)+float64(time.Hour/time.Millisecond), due) //nolint:testifylint // whole ms
	})
}
