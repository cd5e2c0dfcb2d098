package streaming

import (
	"embed"

	"github.com/world-redis/world-redis/internal/luascript"
)

//go:embed lua
var luaFiles embed.FS

type scripts struct {
	append, close, page, purge *luascript.Script
}

func loadScripts() (scripts, error) {
	var s scripts
	for name, target := range map[string]**luascript.Script{
		"chunk_append": &s.append, "stream_close": &s.close, "chunk_page": &s.page, "stream_purge": &s.purge,
	} {
		script, err := luascript.Load(luaFiles, "lua", name)
		if err != nil {
			return scripts{}, err
		}
		*target = script
	}
	return s, nil
}
