package luascript_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
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
