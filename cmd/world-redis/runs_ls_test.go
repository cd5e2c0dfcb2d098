package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

const failRun = `{"event":{"eventType":"run_failed","specVersion":4,"eventData":{"error":{"message":"no"}}}}`

// newRunOf creates a run of a workflow with attributes.
func newRunOf(t *testing.T, base, workflow string, attributes map[string]string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"event": map[string]any{"eventType": "run_created", "specVersion": 4, "eventData": map[string]any{
		"deploymentId": "d", "workflowName": workflow, "input": []int{}, "attributes": attributes, "allowReservedAttributes": true,
	}}})
	require.NoError(t, err)
	var made struct{ Run struct{ RunID string } }
	require.NoError(t, json.Unmarshal([]byte(callAs(t, base, "one", "/v1/events", string(body))), &made))
	return made.Run.RunID
}

// runsOf returns the command for runs of a service.
func runsOf(t *testing.T, base string) func(args ...string) (string, error) {
	return func(args ...string) (string, error) {
		return ask(t, append([]string{"runs", "--url", base, "--token", "one"}, args...)...)
	}
}

// listedRuns returns the ids that `runs ls --json` prints.
func listedRuns(t *testing.T, out string) []string {
	t.Helper()
	ids := []string{}
	for line := range strings.Lines(out) {
		var r printedRun
		require.NoError(t, json.Unmarshal([]byte(line), &r), out)
		ids = append(ids, r.RunID)
	}
	return ids
}

// An operator finds runs by name, pattern, status, age, attribute and parent, and reads them page by page.
func TestOperatorListsRuns(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+s.Addr, "WORKFLOW_WORLD_TOKEN=one")
	runs := runsOf(t, base)
	const report, other = "workflow//./src/report//report", "workflow//./src/other//other"
	parent := newRunOf(t, base, other, nil)
	child := newRunOf(t, base, report, map[string]string{parentAttribute: parent, "customer": "acme"})
	failed := newRunOf(t, base, report, map[string]string{"customer": "b"})
	callAs(t, base, "one", "/v1/runs/"+failed+"/events", failRun)
	last := newRunOf(t, base, other, map[string]string{"customer": "acme", "region": "eu"})

	for flags, want := range map[string][]string{
		"":                                   {last, failed, child, parent},
		"--oldest-first":                     {parent, child, failed, last},
		"--workflow " + report:               {failed, child},
		"--workflow rep*":                    {failed, child},
		"--workflow ???er":                   {last, parent},
		"--workflow report":                  {failed, child},
		"--workflow workflow//./src/*//*r":   {last, parent},
		"--workflow workflow//./src/*":       {},
		"--status failed":                    {failed},
		"--status failed,pending":            {last, failed, child, parent},
		"--status failed --status completed": {failed},
		"--attribute customer=acme":          {last, child},
		"--attribute customer":               {last, failed, child},
		"--attribute customer=acme --attribute region=eu":      {last},
		"--attribute customer=acm":                             {},
		"--parent " + parent:                                   {child},
		"--parent " + child:                                    {},
		"--newer-than 1h":                                      {last, failed, child, parent},
		"--older-than 1h":                                      {},
		"--newer-than 1d12h --workflow report --status failed": {failed},
	} {
		out, err := runs(append([]string{"ls", "--json"}, strings.Fields(flags)...)...)
		require.NoError(t, err, flags)
		require.Equal(t, want, listedRuns(t, out), flags)
	}

	var one printedRun
	out, err := runs("ls", "--json", "--parent", parent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &one))
	require.InDelta(t, time.Now().UnixMilli(), one.CreatedAt, float64(time.Hour.Milliseconds()))
	one.CreatedAt = 0
	require.Equal(t, printedRun{
		RunID: child, Status: "pending", WorkflowName: report, DeploymentID: "d", ParentRunID: parent, SpecVersion: 4,
		Attributes: map[string]string{parentAttribute: parent, "customer": "acme"},
	}, one)
	out, err = runs("ls", "--workflow", "report")
	require.NoError(t, err)
	require.Regexp(t, `^RUN +STATUS +CREATED +TOOK +WORKFLOW +PARENT\n`+failed+` +failed +\S+Z +\S+s +`+report+` +-\n`+child+` +pending +\S+Z +- +`+report+` +`+parent+`\n$`, out)
	out, err = runs("ls", "--status", "paused")
	require.NoError(t, err)
	require.Equal(t, "no runs\n", out)

	for _, filter := range []string{"", "--attribute=customer"} {
		require.Equal(t, []string{last, failed, child}, pageByPage(t, runs, filter)[:3])
	}
	require.NoError(t, stop())
}

// pageByPage lists runs one at a time, each with the cursor of the one before.
func pageByPage(t *testing.T, runs func(...string) (string, error), filter string) (ids []string) {
	t.Helper()
	for cursor := ""; len(ids) < 10; {
		args := []string{"ls", "--limit", "1", "--cursor", cursor}
		if filter != "" {
			args = append(args, filter)
		}
		out, err := runs(args...)
		require.NoError(t, err)
		if out == "no runs\n" {
			return ids
		}
		ids = append(ids, strings.Fields(strings.Split(out, "\n")[1])[0])
		_, next, more := strings.Cut(out, "There are more: --cursor ")
		if !more {
			return ids
		}
		cursor = strings.TrimSpace(next)
	}
	return ids
}

// What cannot be meant is refused in one sentence, before the service is called.
func TestRunFiltersAreChecked(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"ls --status done":                      "--status done: use pending, running, paused, completed, failed or cancelled",
		"ls --limit 0":                          "--limit must be 1 to 10000",
		"ls --attribute =x":                     `--attribute "=x": use key=value, or key alone`,
		"ls --older-than 2d --newer-than 1d":    "--older-than and --newer-than exclude every run: no run is both",
		"ls --workflow rep[ort":                 "--workflow rep[ort: a [ lacks its ]",
		"ls --older-than 7":                     `invalid argument "7" for "--older-than" flag: "7" is not a duration such as 30m, 36h or 7d`,
		"ls --older-than xd":                    `invalid argument "xd" for "--older-than" flag: "xd" is not a duration such as 30m, 36h or 7d`,
		"ls --older-than 0d":                    `invalid argument "0d" for "--older-than" flag: "0d" is not more than 0`,
		"delete":                                "name the runs, or select them by at least one filter, or --all",
		"delete wrun_1 --all":                   "name runs, or select them by filters, but not both",
		"delete --status running":               "--status running: such a run cannot be removed; use completed, failed or cancelled",
		"cancel --status failed,running":        "--status failed: such a run cannot be cancelled; use pending, running or paused",
		"cancel --all --limit -1":               "--limit must not be negative",
		"ls --url http://127.0.0.1:1 --limit 1": "no world-redis answers at http://127.0.0.1:1 (is it running? see --url): dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		_, err := ask(t, append([]string{"runs"}, strings.Fields(args)...)...)
		require.EqualError(t, err, want, args)
	}
}

// An age may have days.
func TestAgesMayHaveDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90m": 90 * time.Minute, "7d": 168 * time.Hour, "1d12h30m": 36*time.Hour + 30*time.Minute} {
		var a age
		require.NoError(t, a.Set(text))
		require.Equal(t, want, time.Duration(a), text)
	}
}

// A long command says how far it has come, how fast, and how long it still takes; a short one is silent.
func TestProgressShowsRateAndRemainingTime(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Unix(0, 0)
	p := &progress{out: &out, what: "runs are removed", total: 100_000, every: 10 * time.Second, now: func() time.Time { return now }, begun: now, last: now}
	for range 3 {
		now = now.Add(9 * time.Second)
		p.add(9_000)
	}
	p.end()
	require.Equal(t, "18,000 of 100,000 runs are removed, 1,000 a second, 1m22s left\n", out.String())
	require.Equal(t, []string{"0", "999", "1,000", "12,345,678"}, []string{thousands(0), thousands(999), thousands(1000), thousands(12345678)})
	require.Equal(t, "7 runs are read, 3 a second", (&progress{what: "runs are read", done: 7}).line(2*time.Second))
	require.Equal(t, fmt.Sprint("1 run", "2 runs"), fmt.Sprint(plural(1), plural(2)))
}
