package luascript_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

func load(t *testing.T, text string) *luascript.Script {
	t.Helper()
	s, err := luascript.Load(fstest.MapFS{"lua/a.lua": {Data: []byte(text)}}, "lua", "a")
	require.NoError(t, err)
	return s
}

// A script is sent without unused functions, including those that only unused functions name, and without comments. A
// constant is replaced by its value where it is used, and a word that only looks like it is not.
func TestScriptsAreSentWithoutUnusedCode(t *testing.T) {
	t.Parallel()
	s := load(t, `-- a: a script.
local DONE = 0 -- applied
local KIND = 'k-- DONE'
local UNUSED = 7
local function deep(x)
  return x
end
-- used by nobody but unused
local function only_unused(x)
  return deep(x)
end
local function unused()
  return only_unused(UNUSED), unused
end

local function used(x) -- DONE
  if x == KIND then
    return deep(x)
  end
  return 'DONE, it''s KIND -- unused()', x.DONE, DONE_TOO, 'a' .. KIND ..DONE
end
return {DONE, used(KEYS[1]), {DONE = DONE}}
`)
	require.Equal(t, `local function deep(x)
  return x
end
local function used(x)
  if x == 'k-- DONE' then
    return deep(x)
  end
  return 'DONE, it''s KIND -- unused()', x.DONE, DONE_TOO, 'a' .. 'k-- DONE' ..0
end
return {0, used(KEYS[1]), {DONE = 0}}
`, s.Sent)
}

// A source in another style than ours is not changed.
func TestOtherSourcesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"-- one line\nlocal function y() return 1 end\nreturn 2\n",
		"-- no end\nlocal function y()\n  return 1\n  end\nreturn 2\n",
		"-- inner\nlocal function y()\nlocal function z()\nend\nend\nreturn 2\n",
	} {
		require.Equal(t, text, load(t, text).Sent)
	}
}

// A pruned script does the same as its source, on every Redis.
func TestPrunedScriptsRun(t *testing.T) {
	t.Parallel()
	script := load(t, `local NEGATIVE = -3
local NAME = 'n'
local function shared(x)
  return NEGATIVE .. x -- a comment
end
local function twice(x)
  return shared(shared(x))
end
local function never(x)
  return no_such_function(x)
end
return {twice(NAME), NEGATIVE, 'NAME', #KEYS}
`)
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		reply, err := script.Run(t.Context(), r.Client, []string{r.Prefix + "x"})
		require.NoError(t, err)
		require.Equal(t, []any{"-3-3n", int64(-3), "NAME", int64(1)}, reply)
	})
}
