package streaming

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
)

// BetweenLooks calls f, instead of a pause, between the two looks at a stream that seems over.
func (c *Config) BetweenLooks(f func()) {
	c.pause = func(context.Context, <-chan struct{}, time.Duration) error {
		f()
		return nil
	}
}

// Sharing is how many readers wait for one page, at most.
func (s *Service) Sharing() (most int) {
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	for _, r := range s.pages.inProgress {
		most = max(most, r.readers)
	}
	return most
}

// ScriptTexts are the scripts as they are sent, by their names.
func ScriptTexts() (map[string]string, error) {
	files, err := fs.Glob(luaFiles, "lua/*.lua")
	texts := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".lua")
		script, err := luascript.Load(luaFiles, "lua", name)
		if err != nil {
			return nil, err
		}
		texts[name] = script.Sent
	}
	return texts, err
}
