// Package script names the Lua scripts of queue/lua, and loads them into Redis.
package script

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/luascript"
)

// Set is all scripts of the queue. The header of each file says what it is called with and what it replies.
type Set struct {
	Enqueue, Claim, Begin, Done, Requeue, Dead, Sweep   *luascript.Script
	Wake, Forward, EndCooldown, Forget, Remove, Redrive *luascript.Script
	Crashed, Suspect, Cleared, Interrupted              *luascript.Script
	Register, ReplaceApp, LostAnswer                    *luascript.Script
}

// Load loads the scripts in the folder lua of files into Redis.
func Load(ctx context.Context, client redis.UniversalClient, files fs.FS) (*Set, error) {
	s := &Set{}
	all := []*luascript.Script{}
	for name, into := range map[string]**luascript.Script{
		"enqueue": &s.Enqueue, "claim": &s.Claim, "begin": &s.Begin, "done": &s.Done, "requeue": &s.Requeue, "dead": &s.Dead, "sweep": &s.Sweep,
		"wake": &s.Wake, "forward": &s.Forward, "end_cooldown": &s.EndCooldown, "forget": &s.Forget, "remove": &s.Remove, "redrive": &s.Redrive,
		"crashed": &s.Crashed, "suspect": &s.Suspect, "cleared": &s.Cleared, "interrupted": &s.Interrupted,
		"register": &s.Register, "replace_app": &s.ReplaceApp, "lost_answer": &s.LostAnswer,
	} {
		script, err := luascript.Load(files, "lua", name)
		if err != nil {
			return nil, err
		}
		*into = script
		all = append(all, script)
	}
	if err := luascript.Register(ctx, client, all...); err != nil {
		return nil, err
	}
	return s, nil
}

// Code returns the number that a reply begins with.
func Code(reply []any) (int64, error) {
	if len(reply) == 0 {
		return 0, luascript.ErrShortReply
	}
	return luascript.Int(reply[0])
}

// Text returns an element of a reply that is a text.
func Text(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("script reply: %T where a text belongs", v)
	}
	return s, nil
}
