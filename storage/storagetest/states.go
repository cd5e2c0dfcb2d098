package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// States tests every event type in every state of its run and entity: what the contract answers (§3.2 to §3.6), that a refusal
// leaves no event behind, and that an acceptance leaves exactly one.
func States(t *testing.T, s *Subject) {
	for _, spec := range []int{3, 7} {
		t.Run(fmt.Sprintf("spec %d", spec), func(t *testing.T) {
			for _, row := range stateRows(spec) {
				t.Run(string(row.event)+"/"+row.scene, func(t *testing.T) { row.try(s, s.on(t, spec)) })
			}
		})
	}
	s.checkOwn(t)
}

// stateRow says how an event is answered in a state, and how when it is sent again.
type stateRow struct {
	event world.EventType
	scene string
	from  Scene
	first world.Code
	again world.Code
}

func (row stateRow) try(s *Subject, c *Caller) {
	runID := row.from(c)
	events := 1
	if row.event == FirstStart {
		events = 2
	}
	for round, want := range []world.Code{row.first, row.again} {
		c.Clock.Add(time.Millisecond)
		before := c.Events(runID)
		result, err := c.Try(runID, row.event, CorrelationOf(row.event), c.Sample(row.event))
		require.Equal(c.T, want, world.ErrorCode(err), "call %d: %v", round+1, err)
		after := c.Events(runID)
		if want != "" {
			require.Equal(c.T, before, after, "a refusal changed the log")
			continue
		}
		require.Len(c.T, after, len(before)+events)
		require.Equal(c.T, after[len(after)-1], *result.Event)
	}
	s.upkeep(c.T) // tokens whose time is over
	if _, err := c.GetRun(c.Ctx, runID, true); err == nil {
		s.check(c, runID)
	}
	// Free the token for the next row.
	_, err := c.Try(runID, world.EventRunCancelled, "", nil)
	require.Contains(c.T, []world.Code{"", world.CodeConflict, world.CodeRunNotFound}, world.ErrorCode(err))
	c.Clock.Add(Retention)
	s.upkeep(c.T)
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
	missing := Scene((*Caller).FreshRunID)
	pending := Scene((*Caller).NewRun)
	running := Scene((*Caller).Running)
	created, started := running.Then(world.EventStepCreated), running.Then(world.EventStepCreated, world.EventStepStarted)
	waiting, hooked := running.Then(world.EventWaitCreated), running.Then(world.EventHookCreated)
	stepDone, stepFailed := started.Then(world.EventStepCompleted), started.Then(world.EventStepFailed)

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
		{world.EventHookReceived, "disposed", hooked.Then(world.EventHookDisposed), noHook, noHook},
		{world.EventHookCreated, "disposed", hooked.Then(world.EventHookDisposed), conflict, conflict},
	}
	for _, s := range []struct {
		name string
		from Scene
	}{{"completed step", stepDone}, {"failed step", stepFailed}} {
		for _, e := range []world.EventType{
			world.EventStepCreated, world.EventStepStarted, world.EventStepCompleted, world.EventStepFailed, world.EventStepRetrying,
		} {
			rows = append(rows, row{e, s.name, s.from, conflict, conflict},
				row{e, s.name + ", run over", s.from.Then(world.EventRunCompleted), conflict, conflict})
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
			row{world.EventRunCreated, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventRunStarted, "run" + name, running.Then(end), expired, expired},
			row{world.EventRunStarted, "pending run" + name, pending.Then(end), expired, expired},
			row{world.EventRunCompleted, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventRunFailed, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventRunCancelled, "run" + name, running.Then(end), again, again},
			row{world.EventStepCreated, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventWaitCreated, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventHookCreated, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventStepStarted, "no step" + name, running.Then(end), expired, expired},
			row{world.EventStepFailed, "no step" + name, running.Then(end), expired, expired},
			row{world.EventStepCompleted, "no step" + name, running.Then(end), noStep, noStep},
			row{world.EventStepRetrying, "no step" + name, running.Then(end), noStep, noStep},
			row{world.EventStepStarted, "created" + name, created.Then(end), expired, expired},
			row{world.EventStepFailed, "created" + name, created.Then(end), expired, expired},
			row{world.EventStepCompleted, "created" + name, created.Then(end), ok, conflict},
			row{world.EventStepRetrying, "created" + name, created.Then(end), ok, ok},
			row{world.EventStepStarted, "started" + name, started.Then(end), restart, restart},
			row{world.EventStepFailed, "started" + name, started.Then(end), ok, conflict},
			row{world.EventStepCompleted, "started" + name, started.Then(end), ok, conflict},
			row{world.EventStepRetrying, "started" + name, started.Then(end), ok, ok},
			row{world.EventWaitCompleted, "waiting" + name, waiting.Then(end), noWait, noWait},
			row{world.EventWaitCompleted, "waited" + name, waiting.Then(world.EventWaitCompleted, end), conflict, conflict},
			row{world.EventHookReceived, "hooked" + name, hooked.Then(end), noHook, noHook},
			row{world.EventHookDisposed, "hooked" + name, hooked.Then(end), noHook, noHook},
			row{world.EventHookCreated, "hooked" + name, hooked.Then(end), conflict, conflict},
		)
	}
	if spec < 6 {
		return rows
	}
	rows = append(rows,
		row{FirstStart, "missing", missing, noRun, noRun},
		row{FirstStart, "pending", pending, ok, conflict},
		row{FirstStart, "running", running, ok, conflict},
		row{FirstStart, "created", created, conflict, conflict},
		row{FirstStart, "started", started, conflict, conflict},
		row{FirstStart, "completed step", stepDone, conflict, conflict},
		row{world.EventStepCreated, "begun", running.Then(FirstStart), conflict, conflict},
		row{world.EventStepStarted, "begun", running.Then(FirstStart), ok, ok},
		row{world.EventStepCompleted, "begun", running.Then(FirstStart), ok, conflict},
		row{world.EventAttrSet, "missing", missing, noRun, noRun},
		row{world.EventAttrSet, "pending", pending, ok, conflict},
		row{world.EventAttrSet, "running", running, ok, conflict},
		row{Retained, "missing", missing, noRun, noRun},
		row{Retained, "running", running, ok, conflict},
		row{world.EventHookDisposed, "retained", running.Then(Retained), ok, noHook},
	)
	for _, end := range []world.EventType{world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled} {
		name := " before " + string(end)
		kept := running.Then(Retained, end)
		lapsed := Scene(func(c *Caller) string {
			runID := kept(c)
			c.Clock.Add(Retention)
			return runID
		})
		rows = append(rows,
			row{FirstStart, "no step" + name, running.Then(end), conflict, conflict},
			row{FirstStart, "created" + name, created.Then(end), conflict, conflict},
			row{FirstStart, "begun" + name, running.Then(FirstStart, end), conflict, conflict},
			row{world.EventStepCompleted, "begun" + name, running.Then(FirstStart, end), ok, conflict},
			row{world.EventAttrSet, "run" + name, running.Then(end), conflict, conflict},
			row{world.EventAttrSet, "set" + name, running.Then(world.EventAttrSet, end), conflict, conflict},
			row{world.EventHookReceived, "retained" + name, kept, expired, expired},
			row{world.EventHookDisposed, "retained" + name, kept, expired, expired},
			row{Retained, "retained" + name, kept, conflict, conflict},
			row{world.EventHookReceived, "Retained, lapsed," + name, lapsed, noHook, noHook},
			row{world.EventHookDisposed, "Retained, lapsed," + name, lapsed, noHook, noHook},
		)
	}
	return rows
}
