package queue

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// A script on a Redis Cluster may use only one slot; every key of a queue is in the queue's slot.
func TestKeysOfAQueueAreInOneSlot(t *testing.T) {
	t.Parallel()
	k := lane.KeysOf("workflow:", "workflow_flows")
	slot := redistest.Slot("asynq:{workflow_flows}:pending")
	for _, key := range []string{
		k.Task + "msg_1", k.Pending, k.Paused, k.Active, k.Lease, k.Scheduled, k.Retry, k.Archived, k.Processed + ":2026-01-01", k.Failed,
		k.Idempotency, k.Request + "x", k.WaitingForApp, k.Registrations, k.Bell, k.Waiting, k.Running, k.Parked, k.Delayed,
		k.Completed, k.OfRun + "wrun_1", k.Throttled + "app", k.CoolingDown + "wrun_1",
		k.Interrupted + "app", k.Suspect + "app", k.Suspects + "app",
	} {
		require.Equal(t, slot, redistest.Slot(key), key)
	}
}

// A script begins with a header that names its keys and arguments. Each has a local of that name, which is not
// shadowed, and the body uses no others: only a list of variable length is read by index.
func TestScriptHeadersNameWhatTheScriptsUse(t *testing.T) {
	t.Parallel()
	numbered := regexp.MustCompile(`\b(?:KEYS|ARGV)\[\d+\]`)
	parameters := regexp.MustCompile(`function[ \w]*\(([^)]*)\)`)
	files, err := fs.Glob(luaFiles, "lua/*.lua")
	require.NoError(t, err)
	require.Len(t, files, 20)
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "lua/"), ".lua")
		source, err := fs.ReadFile(luaFiles, file)
		require.NoError(t, err)
		text := string(source)
		require.True(t, strings.HasPrefix(text, "-- "+name+": "), name)
		require.Contains(t, text, "\n-- REPLY: ", name)
		inParameters := map[string]bool{}
		for _, m := range parameters.FindAllStringSubmatch(text, -1) {
			for p := range strings.SplitSeq(m[1], ",") {
				inParameters[strings.TrimSpace(p)] = true
			}
		}
		count := 0
		for _, kind := range []string{"KEYS", "ARGV"} {
			m := regexp.MustCompile(`(?m)^-- ` + kind + `: (.*)$`).FindStringSubmatch(text)
			require.NotNil(t, m, "%s has no %s line", name, kind)
			for i, local := range strings.Fields(m[1]) {
				count++
				read := regexp.MustCompile(fmt.Sprintf(`(?m)^local %s = (?:%s\[%d\]|tonumber\(%s\[%d\]\))(?: -- .*)?$`, local, kind, i+1, kind, i+1))
				require.Len(t, read.FindAllString(text, -1), 1, "%s: %s", name, local)
				declared := regexp.MustCompile(`\b(?:local|for) (?:function )?(?:\w+, )*` + local + `\b`)
				require.Len(t, declared.FindAllString(text, -1), 1, "%s hides %s", name, local)
				require.False(t, inParameters[local], "%s hides %s", name, local)
			}
		}
		require.Len(t, numbered.FindAllString(text, -1), count, "%s uses others than it names", name)
	}
}
