package httpapi

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

func TestLostCallsAreShown(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), func(_ *Config, d *Deps) {
		d.Lost = func(_ context.Context, p world.PageRequest) (world.Page[world.AnsweredCall], error) {
			require.Equal(t, world.PageRequest{Limit: 2, Cursor: "7"}, p)
			return world.Page[world.AnsweredCall]{HasMore: true, Cursor: "9", Data: []world.AnsweredCall{
				{Kind: world.AnsweredStart, At: 5, RunID: "wrun_1", WorkflowName: "wf"},
				{Kind: world.AnsweredResume, At: 4, RunID: "wrun_2", EventID: "evnt_1", HookID: "hook_1", Token: "t", ResumeID: "r"},
			}}, nil
		}
	})
	status, body := get(t, s, "/v1/runs/lost?limit=2&cursor=7")
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"data":[{"kind":"start","answeredAt":5,"runId":"wrun_1","workflowName":"wf"},`+
		`{"kind":"resume","answeredAt":4,"runId":"wrun_2","eventId":"evnt_1","hookId":"hook_1","token":"t","resumeId":"r"}],"cursor":"9","hasMore":true}`, body)
	status, _ = get(t, newServer(t, newFakes(t)), "/v1/runs/lost")
	require.Equal(t, http.StatusNotFound, status)
}
