package storage

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// scriptFiles returns the text of every script by its name.
func scriptFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := fs.Glob(luaFiles, "lua/*.lua")
	require.NoError(t, err)
	for _, name := range names {
		text, err := luaFiles.ReadFile(name)
		require.NoError(t, err)
		out[strings.TrimSuffix(strings.TrimPrefix(name, "lua/"), ".lua")] = string(text)
	}
	return out
}

var (
	reKeys    = regexp.MustCompile(`(?m)^-- KEYS: (.*)$`)
	reArgs    = regexp.MustCompile(`(?m)^-- ARGV: (.*)$`)
	reCodes   = regexp.MustCompile(`(?m)^-- CODES: (.*)$`)
	reUse     = regexp.MustCompile(`\b(KEYS|ARGV)\[(\d+)\]`)
	reCode    = regexp.MustCompile(`(?m)^local ([A-Z_]+) = (-?\d+)`)
	reInclude = regexp.MustCompile(`(?m)^-- \$include lib/(.*)\.lua$`)
	reWord    = regexp.MustCompile(`\b[A-Z][A-Z_]{3,}\b`)
)

// baseLibs return no reply codes: their functions are available to every script.
var baseLibs = []string{"codes", "log", "append", "entity", "event"}

// Every script begins with a header that names its keys, arguments and reply codes. The header is right: each named one
// is used, and each used one is named, by position.
func TestScriptHeaders(t *testing.T) {
	t.Parallel()
	lib, err := luaFiles.ReadFile("lua/lib/codes.lua")
	require.NoError(t, err)
	codes := map[string]bool{}
	for _, m := range reCode.FindAllStringSubmatch(string(lib), -1) {
		codes[m[1]] = m[1] != "WORLD_SPEC"
	}
	set, err := loadScripts()
	require.NoError(t, err)
	files := scriptFiles(t)
	require.Len(t, set.all(), len(files), "every file is loaded")
	for _, script := range set.all() {
		text := files[script.Name]
		require.True(t, strings.HasPrefix(text, "-- "+script.Name+": "), script.Name)
		for re, kind := range map[*regexp.Regexp]string{reKeys: "KEYS", reArgs: "ARGV"} {
			m := re.FindStringSubmatch(text)
			require.NotNil(t, m, "%s has no %s line", script.Name, kind)
			used := map[int]bool{}
			for _, u := range reUse.FindAllStringSubmatch(script.Source, -1) {
				if u[1] == kind {
					n, err := strconv.Atoi(u[2])
					require.NoError(t, err)
					used[n] = true
				}
			}
			named := strings.Fields(m[1])
			for n := range named {
				require.True(t, used[n+1], "%s names %s %d, %s, but does not use it", script.Name, kind, n+1, named[n])
			}
			require.Len(t, used, len(named), "%s uses %s that it does not name", script.Name, kind)
		}
		m := reCodes.FindStringSubmatch(text)
		require.NotNil(t, m, script.Name)
		answered := map[string]bool{}
		_, body, found := strings.Cut(text, "-- $include")
		require.True(t, found, script.Name)
		for _, m := range reInclude.FindAllStringSubmatch(text, -1) {
			if lib, err := luaFiles.ReadFile("lua/lib/" + m[1] + ".lua"); !slices.Contains(baseLibs, m[1]) {
				require.NoError(t, err)
				body += string(lib)
			}
		}
		for _, word := range reWord.FindAllString(body, -1) {
			if codes[word] {
				answered[word] = true
			}
		}
		if strings.Contains(body, "replayed()") {
			answered["REPLAYED"] = true
		}
		if strings.Contains(body, "recorded(") {
			answered["RECORDED"] = true
		}
		if strings.Contains(body, "child_refused(") {
			answered["RUN_MISSING"], answered["RUN_CLOSED"] = true, true
		}
		if strings.Contains(body, "refused(") {
			answered["RUN_TOO_NEW"], answered["RUN_LEGACY"] = true, true
		}
		named := strings.Fields(m[1])
		slices.Sort(named)
		require.Equal(t, named, slices.Sorted(maps.Keys(answered)), script.Name)
	}
}

// The lists of reply codes in Go and Lua are equal.
func TestReplyCodes(t *testing.T) {
	t.Parallel()
	lua, err := luaFiles.ReadFile("lua/lib/codes.lua")
	require.NoError(t, err)
	got := map[string]int{}
	for _, m := range reCode.FindAllStringSubmatch(string(lua), -1) {
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		got[m[1]] = n
	}
	require.Equal(t, map[string]int{
		"DONE": codeDone, "REPLAYED": codeReplayed, "UNCHANGED": codeUnchanged, "RECORDED": codeRecorded, "STEPS_WRONG": codeStepsWrong,
		"RUN_MISSING": codeRunMissing, "RUN_EXISTS": codeRunExists, "RUN_ENDED": codeRunEnded, "RUN_EXPIRED": codeRunExpired,
		"RUN_REMOVED": codeRunRemoved, "RUN_ACTIVE": codeRunActive, "RUN_HELD": codeRunHeld, "RUN_UNCLEARED": codeRunUncleared,
		"RUN_CLOSED": codeRunClosed, "RUN_TOO_NEW": codeRunTooNew, "RUN_LEGACY": codeRunLegacy, "STEP_MISSING": codeStepMissing,
		"STEP_EXISTS": codeStepExists, "STEP_ENDED": codeStepEnded, "STEP_TOO_EARLY": codeStepTooEarly, "HOOK_MISSING": codeHookMissing,
		"ATTRIBUTE_EXISTS": codeAttributeExists, "ATTRIBUTES_FULL": codeAttributesFull, "ATTRIBUTES_UNKNOWN": codeAttributesUnknown,
		"HOOK_EXISTS": codeHookExists, "CLAIM_REVOKED": codeClaimRevoked, "RESUME_TAKEN": codeResumeTaken, "WAIT_MISSING": codeWaitMissing,
		"WAIT_EXISTS": codeWaitExists, "WAIT_ENDED": codeWaitEnded, "EVENT_MISSING": codeEventMissing,
		"RUN_MODERN": codeRunModern, "RUN_NOT_PAUSED": codeRunNotPaused, "STEP_GONE": codeStepGone, "WORLD_SPEC": worldSpec,
	}, got)
	for kind, letter := range map[world.EventType]string{
		world.EventHookConflict: "o", world.EventWaitCreated: "p", world.EventWaitCompleted: "q",
	} {
		encoded, _, err := record.Encode(world.Event{Type: kind})
		require.NoError(t, err)
		require.Equal(t, letter, string(encoded[0]), "lua/lib/log.lua knows this letter")
	}
}

// A script uses one hash slot: all keys of a run have the same one, whatever the ids.
func TestKeysOfARunShareASlot(t *testing.T) {
	t.Parallel()
	space := keyspace{prefix: "workflow:"}
	for _, runID := range []string{"wrun_01J00000000000000000000000", "a", "x.y:z-_"} {
		k := space.of(runID)
		slot := redistest.Slot("{" + runID + "}")
		for _, key := range append(k.event(1_800_000_000_000), k.step("step_1"), k.steps(), k.hooks(), k.hooksOrder(),
			k.leftHooks(), k.fence(), k.resumes(), k.ended()) {
			require.Equal(t, slot, redistest.Slot(key), key)
		}
		require.Len(t, k.event(0), 5)
	}
	require.Equal(t, "workflow:run:{r}", space.of("r").run())
	require.Equal(t, "workflow:step:{r}:s", space.of("r").step("s"))
	require.Equal(t, "workflow:event:{r}", space.of("r").events())
	require.Equal(t, "workflow:events:by_correlation:{r}", space.of("r").related())
	require.Equal(t, "workflow:runs:by_name:my-flow", runindex.Keys{Prefix: "workflow:"}.ByName("my-flow"))
	require.Equal(t, "workflow:runs:by_name:~"+rediskey.Hash("a/{b}"), runindex.Keys{Prefix: "workflow:"}.ByName("a/{b}"))
	require.NotEqual(t, space.of("r").hooks(), space.hook("r"), "a hook id has no braces")
}

// No script looks into payloads, or uses a command that the embedded Redis, Redis 6.2 or a cluster lacks.
func TestScriptsArePortable(t *testing.T) {
	t.Parallel()
	set, err := loadScripts()
	require.NoError(t, err)
	for _, s := range set.all() {
		for _, word := range []string{"cjson", "cmsgpack", "struct.", "bit.", "#!lua", "'KEYS'", "'SCAN'"} {
			require.NotContains(t, s.Source, word, s.Name)
		}
		require.NotRegexp(t, `KEYS\[\d+\] *\.\.`, s.Source, "%s builds a key", s.Name)
	}
}

// These scripts only read, so they do not wait for replicas.
func TestScriptsThatOnlyRead(t *testing.T) {
	t.Parallel()
	set, err := loadScripts()
	require.NoError(t, err)
	var reads []string
	for _, s := range set.all() {
		if s.Reads {
			reads = append(reads, s.Name)
		}
	}
	require.ElementsMatch(t, []string{"event_page", "event_read", "event_related", "hook_read", "run_copy", "run_read", "start_read", "step_read"}, reads)
}
