package queue

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// A script of Redis Cluster may touch one slot only; every key of a queue is in the
// queue's.
func TestKeysOfAQueueAreInOneSlot(t *testing.T) {
	t.Parallel()
	k := keysOf("workflow:", "workflow_flows")
	slot := rediskey.Slot("asynq:{workflow_flows}:pending")
	for _, key := range []string{
		k.task + "msg_1", k.pending, k.paused, k.active, k.lease, k.scheduled, k.retry, k.archived, k.processed + ":2026-01-01", k.failed,
		k.idempotency, k.request + "x", k.stalled, k.wakes, k.bell, k.waiting, k.running, k.parked, k.delayed,
		k.completed, k.ofRun + "wrun_1", k.crowded + "app", k.resting + "wrun_1",
		k.interrupted + "app", k.suspect + "app", k.suspects + "app",
	} {
		require.Equal(t, slot, rediskey.Slot(key), key)
	}
}

// The header of a script names every key and argument that it uses, and no others.
func TestScriptHeadersNameWhatTheScriptsUse(t *testing.T) {
	t.Parallel()
	used := regexp.MustCompile(`(KEYS|ARGV)\[(\d+)\]`)
	named := regexp.MustCompile(`(?m)^-- ((?:KEYS|ARGV)\[\d+)(?:\.\.\.)?\] `)
	files, err := fs.Glob(luaFiles, "lua/*.lua")
	require.NoError(t, err)
	require.Len(t, files, 18)
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "lua/"), ".lua")
		s, err := luascript.Load(luaFiles, "lua", name)
		require.NoError(t, err)
		header, body := map[string]bool{}, map[string]bool{}
		for _, m := range named.FindAllStringSubmatch(s.Source, -1) {
			header[m[1]+"]"] = true
		}
		for line := range strings.Lines(s.Source) {
			if strings.HasPrefix(strings.TrimSpace(line), "--") {
				continue
			}
			for _, m := range used.FindAllString(line, -1) {
				body[m] = true
			}
		}
		switch name {
		case "sweep":
			delete(header, "ARGV[12]") // the variadic one, which is read by index
		case "forget":
			delete(header, "KEYS[8]") // likewise
			delete(header, "ARGV[8]")
		}
		require.Equal(t, header, body, name)
		require.Contains(t, s.Source, "-- Reply: ", name)
	}
}

// Scores keep milliseconds through the text form that Redis gives them back in.
func TestScoresKeepMilliseconds(t *testing.T) {
	t.Parallel()
	for _, ms := range []world.Millis{1, 999, 1_000, 1_700_000_000_001, 1_700_000_000_999, 4_855_000_000_123} {
		got, err := parseScore(score(ms))
		require.NoError(t, err)
		require.Equal(t, ms, got)
	}
	got, err := parseScore("1700000000.1229999") // as an old Redis may print it
	require.NoError(t, err)
	require.Equal(t, world.Millis(1_700_000_000_123), got)
	_, err = parseScore("x")
	require.Error(t, err)
}
