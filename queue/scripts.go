package queue

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/luascript"
)

//go:embed lua
var luaFiles embed.FS

type scripts struct {
	enqueue, claim, begin, done, requeue, dead, sweep, wake, forward, forget, remove, redrive, endCooldown, crashed, suspect, cleared, interrupted, register, lostAnswer *luascript.Script
}

func loadScripts(ctx context.Context, client redis.UniversalClient) (*scripts, error) {
	return loadScriptsOf(ctx, client, luaFiles)
}

func loadScriptsOf(ctx context.Context, client redis.UniversalClient, files fs.FS) (*scripts, error) {
	s := &scripts{}
	all := []*luascript.Script{}
	for name, into := range map[string]**luascript.Script{
		"enqueue": &s.enqueue, "claim": &s.claim, "done": &s.done, "requeue": &s.requeue,
		"dead": &s.dead, "sweep": &s.sweep, "wake": &s.wake, "begin": &s.begin, "forward": &s.forward,
		"forget": &s.forget, "remove": &s.remove, "redrive": &s.redrive, "end_cooldown": &s.endCooldown,
		"crashed": &s.crashed, "suspect": &s.suspect, "cleared": &s.cleared, "interrupted": &s.interrupted,
		"register": &s.register, "lost_answer": &s.lostAnswer,
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

// replyCode reads the number that every reply begins with.
func replyCode(reply []any) (int64, error) {
	if len(reply) == 0 {
		return 0, luascript.ErrShortReply
	}
	return luascript.Int(reply[0])
}

func replyText(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("script reply: %T where a text belongs", v)
	}
	return s, nil
}
