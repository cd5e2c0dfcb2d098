package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// An operator removes the runs that match: first they are counted and shown, then they go, oldest first. Runs that have
// not ended, and those of other names, stay; so does one whose hook keeps its token, which is named.
func TestOperatorDeletesByFilter(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one")
	runs := runsOf(t, base)
	var ended []string
	for range 7 {
		runID := newRunOf(t, base, "report", nil)
		ended = append(ended, runID)
		if len(ended) == 3 {
			callAs(t, base, "one", "/v1/runs/"+runID+"/events", fmt.Sprintf(`{"event":{"eventType":"hook_created","correlationId":"hook_1","specVersion":4,
				"eventData":{"token":"t","tokenRetentionUntil":%d}}}`, time.Now().Add(time.Hour).UnixMilli()))
		}
		callAs(t, base, "one", "/v1/runs/"+runID+"/events", failRun)
	}
	living, other := newRunOf(t, base, "report", nil), newRunOf(t, base, "other", nil)
	callAs(t, base, "one", "/v1/runs/"+other+"/events", failRun)
	filter := []string{"delete", "--workflow", "report"}

	out, err := runs(append(filter, "--dry-run")...)
	require.NoError(t, err)
	require.Regexp(t, `^7 runs: 7 failed\n\nRUN .*\n(wrun_\w+ +failed .*\n){5}and 2 more\n\nNothing was removed \(--dry-run\)\.\n$`, out)
	require.Contains(t, out, ended[0])
	require.NotContains(t, out, ended[5])
	var dry printedMatching
	out, err = runs(append(filter, "--dry-run", "--json", "--limit", "2")...)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &dry))
	require.Equal(t, []string{ended[0], ended[1]}, []string{dry.First[0].RunID, dry.First[1].RunID})
	dry.First = nil
	require.Equal(t, printedMatching{DryRun: true, Matching: 2, ByStatus: map[string]int{"failed": 2}}, dry)
	_, err = runs(filter...)
	require.EqualError(t, err, "nothing was removed: there is no terminal to ask for confirmation, so delete needs --yes here")

	out, err = runs(append(filter, "--yes", "--limit", "2")...)
	require.NoError(t, err)
	require.Equal(t, "2 runs are removed\n", out)
	out, err = runs("ls", "--json", "--oldest-first")
	require.NoError(t, err)
	require.Equal(t, append(slices.Clone(ended[2:]), living, other), listedRuns(t, out))

	out, err = runs(append(filter, "--yes", "--json")...)
	require.EqualError(t, err, "1 run is not removed")
	outcomes := map[string]string{}
	for line := range strings.Lines(out) {
		var r runResult
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		outcomes[r.RunID] = r.Outcome
	}
	require.Equal(t, map[string]string{ended[2]: "refused", ended[3]: "removed", ended[4]: "removed", ended[5]: "removed", ended[6]: "removed"}, outcomes)
	out, err = runs("delete", "--all", "--older-than", "1h", "--yes")
	require.NoError(t, err)
	require.Equal(t, "no runs match\n", out)
	out, err = runs("delete", "--dry-run", living, other)
	require.NoError(t, err)
	require.Regexp(t, `^1 run: 1 failed\n\nRUN .*\n`+other+` .*\n\nNothing was removed`, out)
	require.NoError(t, stop())
}

// An operator cancels one run, and then the children of a run.
func TestOperatorCancelsRuns(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one")
	runs := runsOf(t, base)
	parent := newRunOf(t, base, "wf", nil)
	first := newRunOf(t, base, "wf", map[string]string{parentAttribute: parent})
	second := newRunOf(t, base, "wf", map[string]string{parentAttribute: parent})

	out, err := runs("cancel", first, "--reason", "wrong customer")
	require.NoError(t, err)
	require.Equal(t, first+" is cancelled\n", out)
	out, err = ask(t, "runs", "--url", base, "--token", "one", "show", first, "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"status":"cancelled"`)
	_, err = runs("cancel", "--parent", parent)
	require.EqualError(t, err, "nothing was cancelled: there is no terminal to ask for confirmation, so cancel needs --yes here")
	out, err = runs("cancel", "--parent", parent, "--yes", "--json")
	require.NoError(t, err)
	require.JSONEq(t, `{"runId":"`+second+`","outcome":"cancelled"}`, out)
	_, err = runs("cancel", "wrun_unknown")
	require.EqualError(t, err, "no such run: wrun_unknown")
	out, err = runs("ls", "--json", "--status", "pending")
	require.NoError(t, err)
	require.Equal(t, []string{parent}, listedRuns(t, out))
	callAs(t, base, "one", "/v1/runs/"+parent+"/events", failRun)
	_, err = runs("cancel", parent)
	require.EqualError(t, err, "it has ended: failed")
	require.NoError(t, stop())
}

// fakeRuns is a service with many runs that have ended. It counts what is removed.
type fakeRuns struct {
	mu      sync.Mutex
	ids     []string
	removed map[string]int
	asked   func(removals int) (status int) // called before each removal; 0 removes
}

func (f *fakeRuns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodDelete {
		if status := f.asked(len(f.removed)); status != 0 {
			w.WriteHeader(status)
			return
		}
		f.removed[strings.TrimPrefix(r.URL.Path, "/v1/runs/")]++
		fmt.Fprint(w, "{}")
		return
	}
	page := runPage{Cursor: "c"}
	for _, id := range f.ids {
		if f.removed[id] == 0 && id > r.URL.Query().Get("cursor") && len(page.Data) < 100 {
			page.Data, page.Cursor = append(page.Data, runLine{RunID: id, Status: "failed"}), id
		}
	}
	page.HasMore = len(page.Data) == 100
	_ = json.NewEncoder(w).Encode(map[string]any{"data": page.Data, "cursor": page.Cursor, "hasMore": page.HasMore})
}

func newFakeRuns(t *testing.T, count int) (f *fakeRuns, url string) {
	t.Helper()
	f = &fakeRuns{removed: map[string]int{}, asked: func(int) int { return 0 }}
	for i := range count {
		f.ids = append(f.ids, fmt.Sprintf("run_%04d", i))
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

// deleteAll runs the command until ctx ends, as Ctrl-C ends it.
func deleteAll(ctx context.Context, url string) (out string, err error) {
	root := rootCommand()
	var buffer bytes.Buffer
	root.SetOut(&buffer)
	root.SetArgs([]string{"runs", "--url", url, "delete", "--all", "--yes"})
	err = root.ExecuteContext(ctx)
	return buffer.String(), err
}

// Ctrl-C during a removal: the calls in progress end, the command says how far it came, and the same command continues. No run is
// removed twice.
func TestAnInterruptedRemovalContinues(t *testing.T) {
	t.Parallel()
	f, url := newFakeRuns(t, 450)
	ctx, interrupt := context.WithCancel(t.Context())
	f.asked = func(removals int) int {
		if removals == 230 {
			interrupt()
		}
		return 0
	}
	_, err := deleteAll(ctx, url)
	f.mu.Lock()
	count := len(f.removed)
	f.asked = func(int) int { return 0 }
	f.mu.Unlock()
	require.EqualError(t, err, fmt.Sprintf("interrupted: %d of 450 runs are removed; run the command again to continue", count))
	require.Equal(t, 1, exitCode(err))
	require.Less(t, count, 450)
	require.GreaterOrEqual(t, count, 231)

	out, err := deleteAll(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d runs are removed\n", 450-count), out)
	require.Len(t, f.removed, 450)
	for id, times := range f.removed {
		require.Equal(t, 1, times, id)
	}
}

// An overloaded service is asked again. One that refuses the token, or fails, ends the command.
func TestRemovalWaitsForAnOverloadedService(t *testing.T) {
	t.Parallel()
	f, url := newFakeRuns(t, 20)
	busy := 2
	f.asked = func(int) int {
		if busy > 0 {
			busy--
			return http.StatusTooManyRequests
		}
		return 0
	}
	out, err := deleteAll(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, "20 runs are removed\n", out)

	f, url = newFakeRuns(t, 20)
	f.asked = func(removals int) int {
		if removals == 12 {
			return http.StatusUnauthorized
		}
		return 0
	}
	_, err = deleteAll(t.Context(), url)
	require.EqualError(t, err, "12 of 20 runs are removed; run the command again to continue: the service answers 401 Unauthorized (set --token or WORKFLOW_WORLD_TOKEN)")
}
