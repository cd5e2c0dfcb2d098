package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// An operator removes runs: those that have ended go, with their messages; one that goes on is refused in a sentence.
func TestOperatorDeletesRuns(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one", "WORKFLOW_WORLD_NAMESPACES=shop=two")
	runs := func(args ...string) (string, error) {
		return ask(t, append([]string{"runs", "--url", base, "--token", "one"}, args...)...)
	}
	ended, living := newWorkflowRun(t, base, "one", "d"), newWorkflowRun(t, base, "one", "d")
	callAs(t, base, "one", "/v1/queue", `{"queueName":"__wkf_workflow_wf","message":{"runId":"`+ended+`"},"deploymentId":"d"}`)
	callAs(t, base, "one", "/v1/runs/"+ended+"/events", `{"event":{"eventType":"run_failed","specVersion":2,"eventData":{"error":{"message":"no"}}}}`)

	_, err := runs("delete", ended)
	require.EqualError(t, err, "nothing was removed: there is no terminal to ask for confirmation, so delete needs --yes here")
	_, err = ask(t, "runs", "--url", base, "--token", "two", "delete", "--yes", ended)
	require.EqualError(t, err, "no such run: "+ended)
	_, err = runs("delete", "--yes", living)
	require.EqualError(t, err, "Workflow run \""+living+"\" is pending; a run can be removed once it has ended")
	out, err := runs("delete", "--yes", living, ended, "wrun_unknown")
	require.EqualError(t, err, "2 of 3 runs are not removed")
	require.Equal(t, 1, exitCode(err))
	require.Equal(t, ended+" is removed\n", out)
	_, err = runs("wake", ended)
	require.EqualError(t, err, "no such run: "+ended)
	require.Empty(t, redistest.Client(t, s.Addr).Keys(t.Context(), "workflow:queue:*:of:"+ended).Val())
	require.NoError(t, stop())
}
