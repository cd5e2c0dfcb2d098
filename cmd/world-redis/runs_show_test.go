package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// An operator sees what belongs to a run, and what a removal of it would answer, which is what the removal then does.
func TestOperatorShowsARun(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one")
	runs := runsOf(t, base)
	parent := newRunOf(t, base, "wf", nil)
	runID := newRunOf(t, base, "wf", map[string]string{parentAttribute: parent, "customer": "acme"})
	event := func(text string, args ...any) {
		callAs(t, base, "one", "/v1/runs/"+runID+"/events", fmt.Sprintf(`{"event":{"specVersion":4,`+text+`}}`, args...))
	}
	until := time.Now().Add(time.Hour).UnixMilli()
	event(`"eventType":"step_created","correlationId":"step_1","eventData":{"stepName":"s","input":[]}`)
	event(`"eventType":"step_created","correlationId":"step_2","eventData":{"stepName":"s","input":[]}`)
	event(`"eventType":"step_started","correlationId":"step_2"`)
	event(`"eventType":"hook_created","correlationId":"hook_1","eventData":{"token":"t","tokenRetentionUntil":%d}`, until)
	callAs(t, base, "one", "/v1/queue", `{"queueName":"__wkf_workflow_wf","message":{"runId":"`+runID+`"},"deploymentId":"d","delaySeconds":600}`)
	read := func() (r shownRun) {
		out, err := runs("show", "--json", runID)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		return r
	}

	r := read()
	require.Equal(t, []any{runID, "wf", parent}, []any{r.RunID, r.WorkflowName, r.ParentRunID})
	require.Equal(t, map[string]int{"pending": 1, "running": 1}, r.Steps)
	require.Len(t, r.Hooks, 1)
	require.Equal(t, []any{"hook_1", "t", until}, []any{r.Hooks[0].HookID, r.Hooks[0].Token, r.Hooks[0].TokenRetentionUntil})
	require.Len(t, r.Messages, 1)
	require.Equal(t, []string{"flows", "scheduled"}, []string{r.Messages[0].Queue, r.Messages[0].State})
	require.Equal(t, "refused: the run is pending, and can be removed once it has ended", r.Delete)
	out, err := runs("show", runID)
	require.NoError(t, err)
	require.Regexp(t, `^run +`+runID+`\nworkflow +wf\nstatus +pending\ndeployment +d\nspec version +4\ncreated +\S+Z\nupdated +\S+Z\nparent +`+parent+
		`\nattribute +\$parentRunId=`+parent+`\nattribute +customer=acme\nsteps +1 pending, 1 running\nhook +hook_1, token t, keeps its token until \S+Z\n`+
		`message +msg_\w+, flows, scheduled, attempt \d, in \S+\ndelete +refused: .*\n$`, out)

	event(`"eventType":"run_failed","eventData":{"error":{"message":"no"}}`)
	require.Equal(t, "refused: hook hook_1 keeps its token until "+timestamp(until), read().Delete)
	_, err = runs("delete", "--yes", runID)
	require.Error(t, err)
	callAs(t, base, "one", "/v1/runs/"+parent+"/events", failRun)
	out, err = runs("show", parent)
	require.NoError(t, err)
	require.Regexp(t, `\nsteps +none\ndelete +removed\n$`, out)
	_, err = runs("show", "wrun_unknown")
	require.EqualError(t, err, "no such run: wrun_unknown")
	require.NoError(t, stop())
}
