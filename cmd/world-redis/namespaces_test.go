package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-25: two namespaces on one service and one Redis have the same ids, tokens and names, and neither sees data of the
// other; nor does the default one.
func TestNamespacesSeeNothingOfOneAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr, "WORKFLOW_WORLD_TOKEN=main", "WORKFLOW_WORLD_NAMESPACES=shop=s1|s2,blog=b")
	type reply struct {
		status int
		body   string
	}
	ask := func(token, method, path, body string) reply {
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		defer func() { require.NoError(t, res.Body.Close()) }()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return reply{res.StatusCode, string(text)}
	}
	run := "wrun_" + ids.NewMinter(world.SystemClock{}).New().String()
	create := func(token, name string) reply {
		return ask(token, http.MethodPost, "/v1/runs/"+run+"/events", `{"event":{"eventType":"run_created","specVersion":3,"eventData":{"deploymentId":"d","workflowName":"`+name+`","input":[]}}}`)
	}
	require.Equal(t, http.StatusOK, create("s1", "shops").status)
	for _, stranger := range []string{"b", "main"} {
		require.Equal(t, http.StatusNotFound, ask(stranger, http.MethodGet, "/v1/runs/"+run, "").status, stranger)
		require.Contains(t, ask(stranger, http.MethodGet, "/v1/runs", "").body, `"data":[]`, stranger)
		require.NotContains(t, ask(stranger, http.MethodPost, "/v1/runs/get", `{"runIds":["`+run+`"]}`).body, "shops")
	}
	require.Equal(t, http.StatusOK, create("b", "blogs").status, "the same id is free elsewhere")
	require.Contains(t, ask("s2", http.MethodGet, "/v1/runs/"+run, "").body, `"workflowName":"shops"`)
	require.Contains(t, ask("b", http.MethodGet, "/v1/runs/"+run, "").body, `"workflowName":"blogs"`)

	hook := `{"event":{"eventType":"hook_created","specVersion":3,"correlationId":"hook_1","eventData":{"token":"the same"}}}`
	for _, token := range []string{"s1", "b"} {
		require.Equal(t, http.StatusOK, ask(token, http.MethodPost, "/v1/runs/"+run+"/events", hook).status)
		require.Contains(t, ask(token, http.MethodGet, "/v1/hooks/by-token?token=the+same", "").body, run)
	}
	require.Equal(t, http.StatusNotFound, ask("main", http.MethodGet, "/v1/hooks/by-token?token=the+same", "").status)

	// A registered app gets only the messages of its own namespace.
	app := `{"baseUrl":"http://127.0.0.1:1","deploymentId":"d"}`
	require.Equal(t, http.StatusOK, ask("b", http.MethodPost, "/v1/apps", app).status)
	require.Contains(t, ask("s1", http.MethodGet, "/v1/apps", "").body, `"data":[]`)
	require.Equal(t, http.StatusOK, ask("s1", http.MethodPost, "/v1/queue", `{"queueName":"__wkf_workflow_w","message":{"runId":"`+run+`"},"delaySeconds":600}`).status)
	_, text := get(t, base+"/metrics")
	require.Contains(t, text, `world_redis_queue_messages{namespace="shop",queue="workflow_shop_flows",state="scheduled"} 1`)
	require.Contains(t, text, `world_redis_queue_messages{namespace="blog",queue="workflow_blog_flows",state="scheduled"} 0`)
	require.Contains(t, text, `world_redis_queue_messages{namespace="default",queue="workflow_flows",state="scheduled"} 0`)

	require.Equal(t, http.StatusUnauthorized, ask("shop", http.MethodGet, "/v1/runs", "").status)
	require.NoError(t, stop())
}
