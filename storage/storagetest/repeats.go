package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Repeatable is a state in which an event is accepted, and what happens to the run before the call comes again.
type Repeatable struct {
	From  Scene
	Later []world.EventType
}

// EveryRepeatable lists every event type of a spec version.
func EveryRepeatable(spec int) map[world.EventType]Repeatable {
	fresh, pending, running := Scene((*Caller).FreshRunID), Scene((*Caller).NewRun), Scene((*Caller).Running)
	created := running.Then(world.EventStepCreated)
	started := created.Then(world.EventStepStarted)
	all := map[world.EventType]Repeatable{
		world.EventRunCreated:    {fresh, []world.EventType{world.EventRunStarted, world.EventRunFailed}},
		world.EventRunStarted:    {pending, []world.EventType{world.EventRunCompleted}},
		world.EventRunCompleted:  {running, nil},
		world.EventRunFailed:     {running, nil},
		world.EventRunCancelled:  {running, []world.EventType{world.EventRunCancelled}},
		world.EventStepCreated:   {running, []world.EventType{world.EventStepStarted, world.EventStepFailed}},
		world.EventStepStarted:   {created, []world.EventType{world.EventStepStarted, world.EventStepRetrying, world.EventStepStarted, world.EventStepFailed}},
		world.EventStepRetrying:  {started, []world.EventType{world.EventStepStarted, world.EventStepCompleted}},
		world.EventStepCompleted: {started, []world.EventType{world.EventRunCompleted}},
		world.EventStepFailed:    {started, []world.EventType{world.EventRunFailed}},
		world.EventHookCreated:   {running, []world.EventType{world.EventHookReceived, world.EventHookDisposed}},
		world.EventHookReceived:  {running.Then(world.EventHookCreated), []world.EventType{world.EventHookReceived}},
		world.EventHookDisposed:  {running.Then(world.EventHookCreated), nil},
		world.EventWaitCreated:   {running, []world.EventType{world.EventWaitCompleted}},
		world.EventWaitCompleted: {running.Then(world.EventWaitCreated), nil},
	}
	if spec >= 6 {
		all[world.EventRunCreated] = Repeatable{fresh, []world.EventType{world.EventAttrSet, world.EventRunStarted}}
		all[world.EventRunStarted] = Repeatable{pending, []world.EventType{world.EventAttrSet}}
		all[world.EventAttrSet] = Repeatable{pending, []world.EventType{world.EventRunStarted, world.EventRunFailed}}
		all[FirstStart] = Repeatable{running, []world.EventType{world.EventStepStarted, world.EventStepRetrying}}
		all[Retained] = Repeatable{running, []world.EventType{world.EventHookReceived, world.EventRunCompleted}}
	}
	return all
}

// Repeats tests that the same call with the same request id changes nothing and gets the first answer, also when the run has
// moved on, and after so long that a store may have begun to forget request ids.
func Repeats(t *testing.T, s *Subject) {
	for _, spec := range []int{3, 7} {
		for _, none := range []bool{false, true} {
			t.Run(fmt.Sprintf("spec %d, none %v", spec, none), func(t *testing.T) {
				for eventType, entry := range EveryRepeatable(spec) {
					t.Run(string(eventType), func(t *testing.T) {
						repeatEvent(s, s.on(t, spec), eventType, entry, none)
					})
				}
			})
		}
		t.Run(fmt.Sprintf("spec %d, a run whose id the store mints", spec), func(t *testing.T) { repeatMinted(s, s.on(t, spec)) })
	}
}

func repeatEvent(s *Subject, c *Caller, eventType world.EventType, entry Repeatable, none bool) {
	t := c.T
	t.Helper()
	runID := entry.From(c)
	req := c.Request(runID, eventType, CorrelationOf(eventType), c.Sample(eventType))
	req.RequestID, req.ResolveNone = "r1", none
	first, err := c.CreateEvent(c.Ctx, req)
	require.NoError(t, err)
	for _, pass := range []string{"at once", "after more events"} {
		log := c.Events(runID)
		c.Clock.Add(5 * time.Minute)
		second, err := c.CreateEvent(c.Ctx, req)
		require.NoError(t, err, pass)
		if eventType == world.EventRunStarted {
			page, err := c.ListEvents(c.Ctx, world.EventQuery{RunID: runID, ResolveNone: none})
			require.NoError(t, err)
			require.Equal(t, page.Data, second.Events) // the log as it is now
			second.Events, second.Cursor = first.Events, first.Cursor
		}
		require.Equal(t, first, second, pass)
		require.Equal(t, log, c.Events(runID), pass)
		if pass == "at once" {
			Scene(func(*Caller) string { return runID }).Then(entry.Later...)(c)
		}
	}
	s.check(c, runID)
	other := req
	other.RequestID = "r2"
	_, err = c.CreateEvent(c.Ctx, other)
	switch eventType {
	case world.EventRunCancelled, world.EventHookReceived:
		require.NoError(t, err)
	case world.EventRunStarted: // changes nothing while the run runs
	default:
		require.Error(t, err, "another request id is another call")
	}
	_, _ = c.Try(runID, world.EventRunCancelled, "", nil) // frees the token for the next type
	c.Clock.Add(Retention)
	s.upkeep(t)
}

// repeatMinted does so for a run that has no id yet: the id belongs to the request.
func repeatMinted(s *Subject, c *Caller) {
	t := c.T
	t.Helper()
	req := c.Request("", world.EventRunCreated, "", c.RunData())
	req.RequestID = fmt.Sprintf("minted %d", c.Spec)
	first, err := c.CreateEvent(c.Ctx, req)
	require.NoError(t, err)
	c.Clock.Add(5 * time.Minute)
	second, err := c.CreateEvent(c.Ctx, req)
	require.NoError(t, err)
	require.Equal(t, first, second)
	s.check(c, first.Run.RunID)
	req.RequestID += "other"
	third, err := c.CreateEvent(c.Ctx, req)
	require.NoError(t, err)
	require.NotEqual(t, first.Run.RunID, third.Run.RunID)
}
