// Package luascript loads the .lua files of a package and runs them on Redis.
//
// A line `-- $include lib/<name>.lua` in a file is replaced by the text of that file, which holds shared functions.
// Redis has no modules, so the text is assembled here.
package luascript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Script is one assembled script.
type Script struct {
	Name   string // the file's name without .lua
	Source string // with includes resolved
	Sent   string // the text that Redis gets: the source without unused parts
	Reads  bool   // it writes nothing
	redis  *redis.Script
}

// Load assembles dir/<name>.lua of fsys.
func Load(fsys fs.FS, dir, name string) (*Script, error) {
	source, err := assemble(fsys, dir, name+".lua", map[string]bool{})
	if err != nil {
		return nil, err
	}
	sent := prune(source)
	return &Script{Name: name, Source: source, Sent: sent, Reads: onlyReads(sent), redis: redis.NewScript(sent)}, nil
}

func assemble(fsys fs.FS, dir, file string, seen map[string]bool) (string, error) {
	if seen[file] {
		return "", nil // already included; functions are defined once
	}
	seen[file] = true
	text, err := fs.ReadFile(fsys, path.Join(dir, file))
	if err != nil {
		return "", fmt.Errorf("read script %s: %w", file, err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		included, ok := strings.CutPrefix(strings.TrimSpace(line), "-- $include ")
		if !ok {
			out.WriteString(line)
			continue
		}
		body, err := assemble(fsys, dir, strings.TrimSpace(included), seen)
		if err != nil {
			return "", err
		}
		out.WriteString(body)
	}
	return out.String(), nil
}

// Run runs the script by its hash, and sends the text only to a server that lacks it.
//
// A script must be safe to run twice with the same arguments: if the connection breaks before the answer, go-redis
// sends it again. If the error is [replicated.Missing], the answer is returned, too.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) ([]any, error) {
	cmd := s.redis.Run(s.during(ctx), c, keys, args...)
	reply, err := cmd.Slice()
	if err != nil {
		return answerOf(cmd), fmt.Errorf("script %s: %w", s.Name, err)
	}
	return reply, nil
}

// Int reads an integer element of a reply.
func Int(v any) (int64, error) {
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("script reply: %T instead of an integer", v)
	}
	return n, nil
}

// ErrShortReply is the callers' error for a reply with too few elements.
var ErrShortReply = errors.New("script reply is too short")
