package recovery

import (
	"errors"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
)

// stepMessage returns a message of SDK v4 or v5 with some additional keys.
func stepMessage(t *testing.T, sdk, runID, stepID string, more ...string) world.Message {
	t.Helper()
	body := map[string]any{"workflowRunId": runID, "stepId": stepID, "workflowName": "w"}
	for _, key := range more {
		body[key] = map[string]any{"input": []byte{1}}
	}
	m := world.Message{RunID: runID, StepID: stepID, SDK: sdk, ContentType: "application/cbor"}
	var err error
	if sdk == "v4" {
		m.Body, err = cbor.Marshal(body)
	} else {
		m.ContentType = "application/json"
		m.Body = []byte(`{"runId":"` + runID + `","stepId":"` + stepID + `"`)
		for _, key := range more {
			m.Body = append(m.Body, `,"`+key+`":{"input":{"__type":"Uint8Array","data":"AQ=="}}`...)
		}
		m.Body = append(m.Body, '}')
	}
	require.NoError(t, err)
	return m
}

// A message for a step that the log does not have wakes its run and is done. One that carries the input of its step or
// run, or whose run may be about to start, is retried as usual.
func TestStraySettles(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	s := Strays{Store: b.store, Queue: b.queue, Clock: b.clock}
	v4, v5, ended := b.begin(3), b.begin(7), b.begin(3)
	b.event(v4, 3, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
	b.event(v5, 7, world.EventStepStarted, "step_1", "stepName", "s", "input", []byte{1})
	b.event(ended, 3, world.EventRunCompleted, "", "output", []byte{1})
	const noStep = "the log of the run has no such step; the run is woken instead"
	garbled := stepMessage(t, "v5", v5, "step_9")
	garbled.Body = garbled.Body[1:]
	cases := map[string]struct {
		m      world.Message
		reason string
		woken  []string
	}{
		"v4":                         {stepMessage(t, "v4", v4, "step_9"), noStep, []string{v4}},
		"v5":                         {stepMessage(t, "v5", v5, "step_9"), noStep, []string{v5}},
		"v4, in the log":             {stepMessage(t, "v4", v4, "step_1"), "", nil},
		"v5, in the log":             {stepMessage(t, "v5", v5, "step_1"), "", nil},
		"a wake-up of no run":        {world.Message{RunID: "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", ContentType: "application/json", Body: []byte(`{"runId":"x"}`)}, "the run does not exist", nil},
		"a start":                    {world.Message{RunID: "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", ContentType: "application/json", Body: []byte(`{"runInput":{}}`)}, "", nil},
		"a resume":                   {world.Message{RunID: "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", ContentType: "application/json", Body: []byte(`{"hookInput":{}}`)}, "", nil},
		"a wake-up before its run":   {world.Message{RunID: "wrun_" + ids.NewMinter(b.clock).New().String(), ContentType: "application/json", Body: []byte(`{}`)}, "", nil},
		"brings the step of no run":  {stepMessage(t, "v5", "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", "step_9", "stepInput"), "the run does not exist", nil},
		"brings the step":            {stepMessage(t, "v5", v5, "step_9", "stepInput"), "", nil},
		"brings the run":             {stepMessage(t, "v5", v5, "step_9", "runInput"), "", nil},
		"v4, brings the run":         {stepMessage(t, "v4", v4, "step_9", "runInput"), "", nil},
		"cannot be read":             {garbled, "", nil},
		"its run has ended":          {stepMessage(t, "v4", ended, "step_9"), "the run has ended", nil},
		"its run is unknown":         {stepMessage(t, "v4", "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", "step_9"), "the run does not exist", nil},
		"its run may begin soon":     {stepMessage(t, "v4", "wrun_"+ids.NewMinter(b.clock).New().String(), "step_9"), "", nil},
		"it is for no step":          {world.Message{RunID: v4, ContentType: "application/cbor", Body: []byte{0xa0}}, "", nil},
		"its step's name is no id":   {stepMessage(t, "v4", v4, "no {id}"), "", nil},
		"its run's name is no id":    {stepMessage(t, "v4", "no {id}", "step_9"), "", nil},
		"the body has no media type": {world.Message{RunID: v4, StepID: "step_9", Body: []byte{0xa0}}, "", nil},
	}
	for name, c := range cases {
		for range 2 { // the process may have ended before the message was done
			reason, err := s.Settle(t.Context(), "msg_"+name, c.m)
			require.NoError(t, err, name)
			require.Equal(t, c.reason, reason, name)
		}
		messages := b.queue.messages
		require.ElementsMatch(t, c.woken, b.queue.woken(), name)
		for _, m := range messages {
			require.True(t, m.Plain, name)
			require.Equal(t, "__wkf_workflow_workflow//./a//f", m.QueueName)
			require.Equal(t, "dpl_1", m.DeploymentID)
		}
	}
	b.queue.refused = v4
	_, err := s.Settle(t.Context(), "msg_refused", stepMessage(t, "v4", v4, "step_9"))
	require.Error(t, err, "the wake-up could not be queued, so the message is not done")
}

// A run that has only messages for steps that it does not have is treated as if it had none. A run that was found to be
// busy is not checked again at every pass.
func TestRunsWithStraysOnlyAreWoken(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	begin := func(messages ...world.Message) string {
		runID := b.begin(7)
		b.event(runID, 7, world.EventStepCreated, "step_1", "stepName", "s", "input", []byte{1})
		b.queue.busy[runID] = true
		for _, m := range messages {
			m.RunID = runID
			b.queue.steps[runID] = append(b.queue.steps[runID], m)
		}
		return runID
	}
	stray, known := stepMessage(t, "v5", "", "step_9"), stepMessage(t, "v5", "", "step_1")
	one, two := begin(stray), begin(stray, stray)
	begin(stray, known)
	begin(known)
	begin(stray, stepMessage(t, "v5", "", "step_9", "stepInput"))
	begin()
	b.clock.Add(time.Minute)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, []string{one, two}, b.queue.woken())
	require.Equal(t, 6, b.queue.asked)

	b.clock.Add(time.Minute)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, 8, b.queue.asked, "those that are busy are left alone for a while")
	b.clock.Add(busyFor * time.Minute)
	require.NoError(t, b.pass(t.Context()))
	require.Equal(t, 14, b.queue.asked)
	require.Empty(t, b.queue.woken(), "once for each length of the log")

	b.queue.failing = errors.New("no Redis")
	b.clock.Add(busyFor * time.Minute)
	require.ErrorIs(t, b.pass(t.Context()), b.queue.failing)
}

// The number of remembered runs is bounded.
func TestLooksAreBounded(t *testing.T) {
	t.Parallel()
	l, now := looks{}, time.Now()
	m := ids.NewMinter(world.SystemClock{})
	for range looksKept + 10 {
		require.Len(t, l.due([]world.RunLook{{RunID: m.Prefixed("wrun_")}}, now, time.Hour), 1)
		require.LessOrEqual(t, len(l), looksKept)
	}
}

// A message that carries the input of a removed run, or a payload for it, is set aside with that reason; any other one is not.
func TestAStartOfARemovedRunIsLate(t *testing.T) {
	t.Parallel()
	b := newBundle(t, redistest.New(t))
	s := Strays{Store: b.store, Queue: b.queue, Clock: b.clock}
	alive, removed := b.begin(7), b.begin(7)
	b.event(removed, 7, world.EventRunCompleted, "", "output", []byte{1})
	require.NoError(t, b.store.RemoveRun(t.Context(), removed))
	json := func(runID, body string) world.Message {
		return world.Message{RunID: runID, ContentType: "application/json", Body: []byte(body)}
	}
	gone := `run "` + removed + `" has been removed`
	for name, c := range map[string]struct {
		m      world.Message
		reason string
	}{
		"a start":                {json(removed, `{"runInput":{}}`), gone},
		"a start of SDK v4":      {stepMessage(t, "v4", removed, "", "runInput"), gone},
		"a resume":               {json(removed, `{"hookInput":{}}`), gone},
		"a wake-up":              {json(removed, `{}`), ""},
		"of a run that is alive": {json(alive, `{"runInput":{}}`), ""},
		"of a run to come":       {json("wrun_"+ids.NewMinter(b.clock).New().String(), `{"runInput":{}}`), ""},
		"of no run":              {json("no {id}", `{"runInput":{}}`), ""},
		"of a run of 2016":       {json("wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", `{"runInput":{}}`), `run "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV" does not exist, and its id is older than 30 days: it has been removed, or it was never created`},
	} {
		reason, err := s.Late(t.Context(), c.m)
		require.NoError(t, err, name)
		require.Equal(t, c.reason, reason, name)
	}
}
