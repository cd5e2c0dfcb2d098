package luascript_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
)

func TestLoadJoinsIncludesOnce(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"lua/a.lua":     {Data: []byte("-- $include lib/x.lua\n-- $include lib/y.lua\nreturn {x()}\n")},
		"lua/lib/x.lua": {Data: []byte("-- $include lib/y.lua\nlocal function x() return y() end\n")},
		"lua/lib/y.lua": {Data: []byte("local function y() return 1 end\n")},
	}
	s, err := luascript.Load(fsys, "lua", "a")
	require.NoError(t, err)
	require.Equal(t, "local function y() return 1 end\nlocal function x() return y() end\nreturn {x()}\n", s.Source)
}

func TestLoadNamesTheMissingFile(t *testing.T) {
	t.Parallel()
	_, err := luascript.Load(fstest.MapFS{"lua/a.lua": {Data: []byte("-- $include lib/gone.lua\n")}}, "lua", "a")
	require.ErrorContains(t, err, "lib/gone.lua")
}

// A script that Redis refuses ends the start, also on a cluster, and the error names it.
func TestRegisterNamesTheScriptThatRedisRefuses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		var scripts []*luascript.Script
		for name, text := range map[string]string{"good": "return 1", "wrong": "return )"} {
			s, err := luascript.Load(fstest.MapFS{"lua/" + name + ".lua": {Data: []byte(text)}}, "lua", name)
			require.NoError(t, err)
			scripts = append(scripts, s)
		}
		require.ErrorContains(t, luascript.Register(t.Context(), r.Client, scripts...), "load script wrong: ")
	})
}
