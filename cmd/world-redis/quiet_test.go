package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// requireAllEnded waits until the runs have completed and nothing of their messages is left: I5 and I6 of
// docs/faults.md.
func requireAllEnded(t *testing.T, base string, client redis.UniversalClient, prefix string, runs []string) {
	t.Helper()
	require.Eventually(t, func() bool {
		statuses := map[string]int{}
		for _, runID := range runs {
			code, text := get(t, base+"/v1/runs/"+runID+"?resolveData=none")
			var run struct{ Status string }
			if code == http.StatusOK && json.Unmarshal([]byte(text), &run) == nil {
				statuses[run.Status]++
			}
		}
		return statuses["completed"] == len(runs)
	}, time.Minute, 200*time.Millisecond, "runs that have not completed")
	var left []string
	require.Eventually(t, func() bool {
		left = leftOfMessages(t, client, prefix)
		return len(left) == 0
	}, time.Minute, 200*time.Millisecond, "keys left")
	require.Empty(t, left)
}

// leftOfMessages returns the keys of messages that have not ended.
func leftOfMessages(t *testing.T, client redis.UniversalClient, prefix string) []string {
	t.Helper()
	ctx := context.Background()
	jobs := strings.TrimSuffix(prefix, ":") + "_"
	var left []string
	for _, pattern := range []string{prefix + "queue:{" + jobs + "*", "asynq:{" + jobs + "*"} {
		for _, key := range client.Keys(ctx, pattern).Val() {
			_, name, _ := strings.Cut(key, "}:")
			kind, id, _ := strings.Cut(name, ":")
			switch kind {
			case "processed", "failed", "completed", "wakes", "request": // counters, what is kept to look at, and the memory of request ids
			case "t":
				fields := client.HMGet(ctx, key, "state").Val()
				if len(fields) != 1 || fields[0] != "completed" || client.ZScore(ctx, strings.TrimSuffix(key, "t:"+id)+"completed", id).Err() != nil {
					left = append(left, key)
				}
			default:
				left = append(left, key)
			}
		}
	}
	return left
}
