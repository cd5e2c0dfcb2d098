package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// scene is a run brought into some state; x is the entity that a row sends its event to.
type scene func(b *bundle) (runID string)

const x = "x_1"

// then returns a scene that goes on with more events.
func (s scene) then(events ...world.EventType) scene {
	return func(b *bundle) string {
		runID := s(b)
		for _, e := range events {
			b.send(runID, e, correlationOf(e), sample(b, e))
		}
		return runID
	}
}

// correlationOf is the entity that a row sends an event of the type to.
func correlationOf(e world.EventType) string {
	switch {
	case isRunEvent(e):
		return ""
	case e == world.EventAttrSet:
		return "attr_1"
	default:
		return x
	}
}

func isRunEvent(e world.EventType) bool {
	switch e {
	case world.EventRunCreated, world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled:
		return true
	}
	return false
}

// Two kinds of events that are the same type as another one, but have other rules.
const (
	firstStart = world.EventType("step_started with input")
	retained   = world.EventType("hook_created that outlives the run")
)

// retention is how long such a hook keeps its token.
const retention = time.Hour

// sample is eventData as SDK v4 sends it, or SDK v5 to a bundle of spec 6 and more.
func sample(b *bundle, e world.EventType) world.Fields {
	if b.spec >= 6 {
		switch e {
		case firstStart:
			return data(b.t, "stepName", "add", "workflowName", "wf", "input", []byte{1}, "ownerMessageId", "msg_1")
		case world.EventRunFailed:
			return data(b.t, "error", []byte("devlboom"), "errorCode", "USER_ERROR")
		case world.EventStepFailed, world.EventStepRetrying:
			return data(b.t, "stepName", "add", "error", []byte("devlbad"))
		case world.EventAttrSet:
			return data(b.t, "changes", []map[string]any{{"key": "colour", "value": "blue"}, {"key": "size", "value": nil}},
				"writer", map[string]string{"type": "workflow"})
		case retained:
			return data(b.t, "token", "retained "+b.keys.prefix+b.t.Name(), "metadata", []byte("meta"),
				"tokenRetentionUntil", b.clock.Now().Add(retention).UnixMilli())
		}
	}
	switch e {
	case world.EventRunCreated:
		return b.runData()
	case world.EventRunCompleted:
		return data(b.t, "output", []byte("out"))
	case world.EventRunFailed:
		return data(b.t, "error", map[string]string{"message": "boom", "stack": "at x"}, "errorCode", "USER_ERROR")
	case world.EventStepCreated:
		return data(b.t, "stepName", "add", "input", []byte{1})
	case world.EventStepStarted:
		return data(b.t, "stepName", "add")
	case world.EventStepCompleted:
		return data(b.t, "stepName", "add", "result", []byte{2})
	case world.EventStepFailed:
		return data(b.t, "stepName", "add", "error", "bad", "stack", "at y")
	case world.EventStepRetrying:
		return data(b.t, "stepName", "add", "error", "again", "stack", "at z")
	case world.EventHookCreated:
		return data(b.t, "token", "token of "+b.keys.prefix, "metadata", []byte("meta"))
	case world.EventHookReceived:
		return data(b.t, "payload", []byte("hello"))
	case world.EventWaitCreated, world.EventWaitCompleted:
		return data(b.t, "resumeAt", int64(1_800_000_060_000))
	}
	return nil
}

// Every event type in every state of its run and entity: what the contract answers (§3.2 to
// §3.6), that a refusal leaves no event behind, and that an acceptance leaves exactly one.
func TestEveryEventInEveryState(t *testing.T) {
	t.Parallel()
	for _, spec := range []int{3, 7} {
		t.Run(fmt.Sprintf("spec %d", spec), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
				b := newBundle(t, r)
				for _, row := range stateRows(spec) {
					t.Run(string(row.event)+"/"+row.scene, func(t *testing.T) { row.try(b.on(t, spec)) })
				}
				b.checkClaims()
			})
		})
	}
}

// stateRow says how an event is answered in a state, and how when it is sent again.
type stateRow struct {
	event world.EventType
	scene string
	from  scene
	first world.Code
	again world.Code
}

func (row stateRow) try(b *bundle) {
	runID := row.from(b)
	events := 1
	if row.event == firstStart {
		events = 2
	}
	for round, want := range []world.Code{row.first, row.again} {
		b.clock.Add(time.Millisecond)
		before := b.events(runID)
		result, err := b.try(runID, row.event, correlationOf(row.event), sample(b, row.event))
		require.Equal(b.t, want, world.ErrorCode(err), "call %d: %v", round+1, err)
		after := b.events(runID)
		if want != "" {
			require.Equal(b.t, before, after, "a refusal changed the log")
			continue
		}
		require.Len(b.t, after, len(before)+events)
		require.Equal(b.t, after[len(after)-1], *result.Event)
	}
	b.sweep() // tokens whose time is over
	if _, err := b.GetRun(b.ctx, runID, true); err == nil {
		b.check(runID)
	}
	// Free the token for the next row.
	_, err := b.try(runID, world.EventRunCancelled, "", nil)
	require.Contains(b.t, []world.Code{"", world.CodeConflict, world.CodeRunNotFound}, world.ErrorCode(err))
	b.clock.Add(retention)
	b.sweep()
}

// stateRows is the table for runs of a spec version.
func stateRows(spec int) []stateRow {
	const (
		ok       = world.Code("")
		conflict = world.CodeConflict
		expired  = world.CodeRunExpired
		noRun    = world.CodeRunNotFound
		noStep   = world.CodeStepNotFound
		noWait   = world.CodeWaitNotFound
		noHook   = world.CodeHookNotFound
	)
	missing := scene(func(b *bundle) string { return b.ids.Prefixed("wrun_") })
	pending := scene(func(b *bundle) string { return b.newRun() })
	running := scene(func(b *bundle) string { return b.running() })
	created, started := running.then(world.EventStepCreated), running.then(world.EventStepCreated, world.EventStepStarted)
	waiting, hooked := running.then(world.EventWaitCreated), running.then(world.EventHookCreated)
	stepDone, stepFailed := started.then(world.EventStepCompleted), started.then(world.EventStepFailed)

	type row = stateRow
	rows := []row{
		{world.EventRunStarted, "missing", missing, noRun, noRun},
		{world.EventRunCompleted, "missing", missing, noRun, noRun},
		{world.EventRunFailed, "missing", missing, noRun, noRun},
		{world.EventRunCancelled, "missing", missing, noRun, noRun},
		{world.EventStepCreated, "missing", missing, noRun, noRun},
		{world.EventWaitCreated, "missing", missing, noRun, noRun},
		{world.EventHookCreated, "missing", missing, noRun, noRun},
		{world.EventStepStarted, "missing", missing, noStep, noStep},
		{world.EventStepCompleted, "missing", missing, noStep, noStep},
		{world.EventStepFailed, "missing", missing, noStep, noStep},
		{world.EventStepRetrying, "missing", missing, noStep, noStep},
		{world.EventWaitCompleted, "missing", missing, noWait, noWait},
		{world.EventHookReceived, "missing", missing, noHook, noHook},
		{world.EventHookDisposed, "missing", missing, noHook, noHook},

		{world.EventRunCreated, "missing", missing, ok, conflict},
		{world.EventRunCreated, "running", running, conflict, conflict},
		{world.EventRunCompleted, "pending", pending, ok, conflict},
		{world.EventRunFailed, "pending", pending, ok, conflict},
		{world.EventRunCancelled, "pending", pending, ok, ok},
		{world.EventStepCreated, "pending", pending, ok, conflict},
		{world.EventRunCompleted, "running", running, ok, conflict},
		{world.EventRunFailed, "running", running, ok, conflict},
		{world.EventRunCancelled, "running", running, ok, ok},

		{world.EventStepCreated, "running", running, ok, conflict},
		{world.EventStepStarted, "running", running, noStep, noStep},
		{world.EventStepCompleted, "running", running, noStep, noStep},
		{world.EventStepFailed, "running", running, noStep, noStep},
		{world.EventStepRetrying, "running", running, noStep, noStep},
		{world.EventStepStarted, "created", created, ok, ok},
		{world.EventStepCompleted, "created", created, ok, conflict},
		{world.EventStepFailed, "created", created, ok, conflict},
		{world.EventStepRetrying, "created", created, ok, ok},
		{world.EventStepStarted, "started", started, ok, ok},
		{world.EventStepCompleted, "started", started, ok, conflict},
		{world.EventStepFailed, "started", started, ok, conflict},
		{world.EventStepRetrying, "started", started, ok, ok},

		{world.EventWaitCreated, "running", running, ok, conflict},
		{world.EventWaitCompleted, "running", running, noWait, noWait},
		{world.EventWaitCompleted, "waiting", waiting, ok, conflict},
		{world.EventWaitCompleted, "created step", created, noWait, noWait},

		{world.EventHookCreated, "running", running, ok, conflict},
		{world.EventHookReceived, "running", running, noHook, noHook},
		{world.EventHookDisposed, "running", running, noHook, noHook},
		{world.EventHookReceived, "hooked", hooked, ok, ok},
		{world.EventHookDisposed, "hooked", hooked, ok, noHook},
		{world.EventHookReceived, "disposed", hooked.then(world.EventHookDisposed), noHook, noHook},
		{world.EventHookCreated, "disposed", hooked.then(world.EventHookDisposed), conflict, conflict},
	}
	for _, s := range []struct {
		name string
		from scene
	}{{"completed step", stepDone}, {"failed step", stepFailed}} {
		for _, e := range []world.EventType{
			world.EventStepCreated, world.EventStepStarted, world.EventStepCompleted, world.EventStepFailed, world.EventStepRetrying,
		} {
			rows = append(rows, row{e, s.name, s.from, conflict, conflict},
				row{e, s.name + ", run over", s.from.then(world.EventRunCompleted), conflict, conflict})
		}
	}
	restart := ok // a step that runs may be started again after its run, up to SDK v4
	if spec >= 4 {
		restart = expired
	}
	for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
		name := " before " + string(end)
		again := conflict
		if end == world.EventRunCancelled {
			again = ok
		}
		rows = append(rows,
			row{world.EventRunCreated, "run" + name, running.then(end), conflict, conflict},
			row{world.EventRunStarted, "run" + name, running.then(end), expired, expired},
			row{world.EventRunStarted, "pending run" + name, pending.then(end), expired, expired},
			row{world.EventRunCompleted, "run" + name, running.then(end), conflict, conflict},
			row{world.EventRunFailed, "run" + name, running.then(end), conflict, conflict},
			row{world.EventRunCancelled, "run" + name, running.then(end), again, again},
			row{world.EventStepCreated, "run" + name, running.then(end), conflict, conflict},
			row{world.EventWaitCreated, "run" + name, running.then(end), conflict, conflict},
			row{world.EventHookCreated, "run" + name, running.then(end), conflict, conflict},
			row{world.EventStepStarted, "no step" + name, running.then(end), expired, expired},
			row{world.EventStepFailed, "no step" + name, running.then(end), expired, expired},
			row{world.EventStepCompleted, "no step" + name, running.then(end), noStep, noStep},
			row{world.EventStepRetrying, "no step" + name, running.then(end), noStep, noStep},
			row{world.EventStepStarted, "created" + name, created.then(end), expired, expired},
			row{world.EventStepFailed, "created" + name, created.then(end), expired, expired},
			row{world.EventStepCompleted, "created" + name, created.then(end), ok, conflict},
			row{world.EventStepRetrying, "created" + name, created.then(end), ok, ok},
			row{world.EventStepStarted, "started" + name, started.then(end), restart, restart},
			row{world.EventStepFailed, "started" + name, started.then(end), ok, conflict},
			row{world.EventStepCompleted, "started" + name, started.then(end), ok, conflict},
			row{world.EventStepRetrying, "started" + name, started.then(end), ok, ok},
			row{world.EventWaitCompleted, "waiting" + name, waiting.then(end), noWait, noWait},
			row{world.EventWaitCompleted, "waited" + name, waiting.then(world.EventWaitCompleted, end), conflict, conflict},
			row{world.EventHookReceived, "hooked" + name, hooked.then(end), noHook, noHook},
			row{world.EventHookDisposed, "hooked" + name, hooked.then(end), noHook, noHook},
			row{world.EventHookCreated, "hooked" + name, hooked.then(end), conflict, conflict},
		)
	}
	if spec < 6 {
		return rows
	}
	rows = append(rows,
		row{firstStart, "missing", missing, noRun, noRun},
		row{firstStart, "pending", pending, ok, conflict},
		row{firstStart, "running", running, ok, conflict},
		row{firstStart, "created", created, conflict, conflict},
		row{firstStart, "started", started, conflict, conflict},
		row{firstStart, "completed step", stepDone, conflict, conflict},
		row{world.EventStepCreated, "begun", running.then(firstStart), conflict, conflict},
		row{world.EventStepStarted, "begun", running.then(firstStart), ok, ok},
		row{world.EventStepCompleted, "begun", running.then(firstStart), ok, conflict},
		row{world.EventAttrSet, "missing", missing, noRun, noRun},
		row{world.EventAttrSet, "pending", pending, ok, conflict},
		row{world.EventAttrSet, "running", running, ok, conflict},
		row{retained, "missing", missing, noRun, noRun},
		row{retained, "running", running, ok, conflict},
		row{world.EventHookDisposed, "retained", running.then(retained), ok, noHook},
	)
	for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
		name := " before " + string(end)
		kept := running.then(retained, end)
		lapsed := scene(func(b *bundle) string {
			runID := kept(b)
			b.clock.Add(retention)
			return runID
		})
		rows = append(rows,
			row{firstStart, "no step" + name, running.then(end), conflict, conflict},
			row{firstStart, "created" + name, created.then(end), conflict, conflict},
			row{firstStart, "begun" + name, running.then(firstStart, end), conflict, conflict},
			row{world.EventStepCompleted, "begun" + name, running.then(firstStart, end), ok, conflict},
			row{world.EventAttrSet, "run" + name, running.then(end), conflict, conflict},
			row{world.EventAttrSet, "set" + name, running.then(world.EventAttrSet, end), conflict, conflict},
			row{world.EventHookReceived, "retained" + name, kept, expired, expired},
			row{world.EventHookDisposed, "retained" + name, kept, expired, expired},
			row{retained, "retained" + name, kept, conflict, conflict},
			row{world.EventHookReceived, "retained, lapsed," + name, lapsed, noHook, noHook},
			row{world.EventHookDisposed, "retained, lapsed," + name, lapsed, noHook, noHook},
		)
	}
	return rows
}
