package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// Redis comes back without its data: the runs whose start was acknowledged are listed, each in its namespace.
func TestOperatorSeesWhatRedisLost(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one", "WORKFLOW_WORLD_NAMESPACES=shop=two")
	lost := func(token string, args ...string) string {
		out, err := ask(t, append([]string{"runs", "lost", "--url", base, "--token", token}, args...)...)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, "no acknowledged start or resume is known to be lost\n", lost("one"))
	first, second, shops := newWorkflowRun(t, base, "one", "d"), newWorkflowRun(t, base, "one", "d"), newWorkflowRun(t, base, "two", "d")
	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart())
	var out string
	require.Eventually(t, func() bool {
		out = lost("one")
		return strings.Contains(out, first) && strings.Contains(out, second) && strings.Contains(lost("two"), shops)
	}, time.Minute, 100*time.Millisecond)
	require.Regexp(t, `^ANSWERED +LOST +RUN +WORKFLOW +HOOK +TOKEN\n\S+Z +start +`+second+` +wf +- +-\n\S+Z +start +`+first+` +wf +- +-\n$`, out)
	require.NotContains(t, out, shops)
	var page lostPage
	require.NoError(t, json.Unmarshal([]byte(lost("one", "--json", "--limit", "1")), &page))
	require.Len(t, page.Data, 1)
	require.True(t, page.HasMore)
	require.Contains(t, lost("one", "--limit", "1"), "There are more: --cursor 1")
	require.Contains(t, lost("one", "--limit", "1", "--cursor", "1"), first)
	require.NoError(t, stop())
}
