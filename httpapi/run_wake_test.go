package httpapi

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

type wakerFunc func(runID string) (world.RunWake, error)

func (f wakerFunc) WakeRun(_ context.Context, runID string) (world.RunWake, error) { return f(runID) }

func TestARunIsWokenOnRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), func(_ *Config, d *Deps) {
		d.Waker = wakerFunc(func(runID string) (world.RunWake, error) {
			if runID != "wrun_1" {
				return world.RunWake{}, world.Errorf(world.CodeRunExpired, "it has ended")
			}
			return world.RunWake{MessageID: "msg_1", Run: world.Run{RunID: runID, Status: world.RunRunning, WorkflowName: "wf", DeploymentID: "d"}}, nil
		})
	})
	status, body := post(t, s, "/v1/runs/wrun_1/wake", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"runId":"wrun_1","messageId":"msg_1","status":"running","workflowName":"wf","deploymentId":"d"}`, body)
	status, body = post(t, s, "/v1/runs/wrun_2/wake", nil)
	require.Equal(t, http.StatusGone, status, body)
	status, _ = post(t, newServer(t, newFakes(t)), "/v1/runs/wrun_1/wake", nil)
	require.Equal(t, http.StatusNotFound, status)
}
