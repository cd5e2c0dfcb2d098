// Package luagolden compares the scripts that a package sends to Redis with committed files.
//
// Pruning (internal/luascript/prune.go) rewrites each script before it is sent. In a review, the files show how a
// change of a script, of a shared function or of the pruning changes the text that Redis runs.
package luagolden

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
)

var write = flag.Bool("golden.write", false, "write testdata/sent instead of comparing with it (make golden)")

// ending is the files' ending: tools that read sources must not take them for one.
const ending = ".golden"

// Check requires that every script in the folder lua of fsys is pruned, and is sent exactly as in its file in
// testdata/sent.
func Check(t *testing.T, fsys fs.FS) {
	t.Helper()
	names, err := fs.Glob(fsys, "lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	folder := filepath.Join("testdata", "sent")
	if *write {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.MkdirAll(folder, 0o750))
	}
	sent := map[string]string{}
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".lua")
		script, err := luascript.Load(fsys, "lua", name)
		require.NoError(t, err)
		for line := range strings.Lines(script.Sent) {
			require.False(t, strings.HasPrefix(strings.TrimSpace(line), "--"), "%s is not pruned: it is written in a way that prune.go does not know", name)
		}
		sent[name+ending] = script.Sent
		if *write {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name+ending), []byte(script.Sent), 0o600))
		}
	}
	files := os.DirFS(folder)
	names, err = fs.Glob(files, "*")
	require.NoError(t, err)
	committed := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		committed[name] = string(text)
	}
	require.Equal(t, sent, committed, "make golden writes the files")
}
