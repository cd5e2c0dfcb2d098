package streaming

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

func everyScript(t *testing.T) []*luascript.Script {
	t.Helper()
	s, err := loadScripts()
	require.NoError(t, err)
	entries, err := luaFiles.ReadDir("lua")
	require.NoError(t, err)
	list := []*luascript.Script{s.append, s.close, s.page, s.purge}
	entries = slices.DeleteFunc(entries, fs.DirEntry.IsDir) // what they include
	require.Len(t, entries, len(list), "a script is not loaded")
	return list
}

// A script's header names its keys and arguments; the body uses no others.
func TestScriptHeadersNameEveryKeyAndArgument(t *testing.T) {
	t.Parallel()
	for _, s := range everyScript(t) {
		header, body, found := strings.Cut(s.Source, "\nlocal ")
		require.True(t, found, s.Name)
		require.True(t, strings.HasPrefix(header, "-- "+s.Name+": "), s.Name)
		for _, part := range []string{"KEYS", "ARGV", "Reply"} {
			require.Contains(t, header, "\n-- "+part, s.Name)
		}
		_, keys, _ := strings.Cut(header, "\n-- KEYS")
		keys, args, _ := strings.Cut(keys, "\n-- ARGV")
		args, _, _ = strings.Cut(args, "\n-- Reply")
		for array, described := range map[string]string{"KEYS": keys, "ARGV": args} {
			for _, use := range regexp.MustCompile(array+`\[(\d+)\]`).FindAllStringSubmatch(body, -1) {
				require.Regexp(t, fmt.Sprintf(`\b%s\b`, use[1]), described, "%s uses %s", s.Name, use[0])
			}
		}
		require.NotContains(t, body, "cjson", s.Name)
		require.NotContains(t, body, "cmsgpack", s.Name)
	}
}

// All keys of a script are in one slot, and so is the channel.
func TestTheKeysOfAStreamShareASlot(t *testing.T) {
	t.Parallel()
	s := &Service{prefix: "workflow:"}
	for _, name := range []string{"strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user", "a{b}c{", "}", "__health_check__x", strings.Repeat("n", 1024)} {
		keys, buckets := s.keys(name), s.requestKeys(name, time.Now())
		slot := redistest.Slot(keys.stream)
		for _, key := range append(buckets[:], keys.meta, keys.channel, keys.second, keys.arriving) {
			require.Equal(t, slot, redistest.Slot(key), key)
			require.True(t, strings.HasPrefix(key, "workflow:"))
		}
	}
	require.Equal(t, "workflow:stream:{strm_1_user}", s.keys("strm_1_user").stream)
	require.Equal(t, "workflow:stream_notify:{strm_1_user}", s.keys("strm_1_user").channel)
	require.Equal(t, "workflow:streams:by_run:{wrun_hc_1}", s.runKey("wrun_hc_1"))
}

func TestRequestKeysAreThreeNeighbours(t *testing.T) {
	t.Parallel()
	s := &Service{prefix: "p:"}
	keys := s.requestKeys("a", time.Unix(1_200, 0))
	require.Equal(t, [3]string{"p:stream_req:{a}:2", "p:stream_req:{a}:1", "p:stream_req:{a}:3"}, keys)
}

// An entry is forgotten after one to two minutes, and the number of entries is bounded.
func TestRecentForgets(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	r := newRecent[int]()
	has := func(key string, now time.Time) bool {
		_, ok := r.get(key, now)
		return ok
	}
	require.False(t, has("a", now))
	r.put("a", 1, now)
	require.True(t, has("a", now.Add(59*time.Second)))
	require.True(t, has("a", now.Add(61*time.Second)), "the older generation counts")
	r.put("a", 2, now.Add(61*time.Second))
	value, _ := r.get("a", now.Add(61*time.Second))
	require.Equal(t, 2, value, "the younger generation counts more")
	require.False(t, has("a", now.Add(183*time.Second)))
	r.put("a", 1, now)
	require.False(t, has("a", now.Add(time.Hour)), "nobody asked for an hour")
	for i := range 3 * recentSize {
		r.put(strconv.Itoa(i), i, now.Add(time.Hour))
	}
	require.LessOrEqual(t, len(r.young)+len(r.old), 2*recentSize)
}
