package redistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Refused shows what happens to scripts when Redis refuses one of their commands.
//
// A test makes the store's usual calls on [Refused.Client]. Before a script runs there, it is tried on the same data:
// once unchanged, and once for each of its commands, as a user who may not use that command. To readers, the result
// of the refused call must look as if the call had not been made, or as if all of it had been done. The repeat of the
// call, with the right restored, must end in the same state as the unchanged call. Then the data is restored, and the
// call itself continues.
type Refused struct {
	Server  *Server
	Client  *redis.Client
	Visible func(State)              // removes what no reader sees; nil keeps everything
	Recover func(cmds [][]any) error // repairs what a refused call leaves; nil if nothing has to

	tb       testing.TB
	admin    *redis.Client
	user     *redis.Client
	scripts  map[string]refusedScript // by hash
	mu       sync.RWMutex             // held by a trial, and read-held by any other command
	tried    map[string]map[string]bool
	commands map[string]*redis.CommandInfo
}

type refusedScript struct {
	name     string
	commands []string
}

const refusedUser = "refused"

// NewRefused starts a server. texts are the scripts as they are sent, by name.
func NewRefused(tb testing.TB, texts map[string]string) *Refused {
	tb.Helper()
	r := &Refused{Server: Start(tb), tb: tb, scripts: map[string]refusedScript{}, tried: map[string]map[string]bool{}}
	r.admin = Client(tb, r.Server.Addr)
	r.Client = Client(tb, r.Server.Addr)
	r.Client.AddHook(r)
	r.acl("on", ">x", "+@all", "~*", "&*")
	r.user = redis.NewClient(&redis.Options{Addr: r.Server.Addr, Username: refusedUser, Password: "x"})
	tb.Cleanup(func() { _ = r.user.Close() })
	for name, text := range texts {
		r.scripts[redis.NewScript(text).Hash()] = refusedScript{name, commandsOf(text, `p?call`)}
		r.tried[name] = nil
	}
	return r
}

// commandsOf returns the commands that a script calls with redis.<call>.
func commandsOf(text, call string) []string {
	var commands []string
	for _, m := range regexp.MustCompile(`redis\.`+call+`\('(\w+)'`).FindAllStringSubmatch(text, -1) {
		commands = append(commands, m[1])
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

// Check requires, at the end, that every script was tried and that each of its write commands was refused in one of
// its calls. unreached are the commands that a script has and never runs, as "script COMMAND", with the reason.
func (r *Refused) Check(texts, unreached map[string]string) {
	r.tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if r.tried[name] == nil {
			r.tb.Errorf("no call of the script %s was tried", name)
			continue
		}
		for _, command := range commandsOf(texts[name], "call") {
			_, excused := unreached[name+" "+command]
			if refused := r.tried[name][command]; refused == excused && r.writes(command) {
				r.tb.Errorf("%s: %s was refused: %v, excused: %v", name, command, refused, excused)
			}
		}
	}
}

func (r *Refused) writes(command string) bool {
	if r.commands == nil {
		var err error
		if r.commands, err = r.admin.Command(context.Background()).Result(); err != nil {
			r.tb.Errorf("COMMAND: %v", err)
		}
	}
	info := r.commands[strings.ToLower(command)]
	return info == nil || slices.Contains(info.Flags, "write")
}

func (r *Refused) acl(rules ...any) {
	if err := r.admin.Do(context.Background(), append([]any{"ACL", "SETUSER", refusedUser}, rules...)...).Err(); err != nil {
		r.tb.Errorf("ACL SETUSER %v: %v", rules, err)
	}
}

// DialHook implements redis.Hook.
func (r *Refused) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (r *Refused) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer r.enter(cmd)()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (r *Refused) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer r.enter(cmds...)()
		return next(ctx, cmds)
	}
}

// enter tries a sent script, and blocks trials until the returned function is called.
func (r *Refused) enter(cmds ...redis.Cmder) (leave func()) {
	switch strings.ToLower(cmds[0].Name()) {
	case "hello", "client", "auth", "select": // of a new connection, which another command waits for
		return func() {}
	}
	var unit [][]any
	commands := map[string]bool{}
	var names []string
	var beside [][]any
	transaction := strings.EqualFold(cmds[0].Name(), "multi")
	for _, cmd := range cmds {
		script, ok := r.scriptOf(cmd.Args())
		if ok || transaction {
			unit = append(unit, cmd.Args())
		} else {
			beside = append(beside, cmd.Args())
		}
		if ok {
			names = append(names, script.name)
			for _, command := range script.commands {
				commands[command] = true
			}
		}
	}
	if len(names) == 0 {
		r.mu.RLock()
		return r.mu.RUnlock
	}
	r.mu.Lock()
	r.run(beside) // separate commands, which succeed or fail alone
	if transaction {
		r.try(names, unit, slices.Sorted(maps.Keys(commands)))
		return r.mu.Unlock
	}
	for i, name := range names {
		script, _ := r.scriptOf(unit[i])
		r.try([]string{name}, unit[i:i+1], script.commands)
	}
	return r.mu.Unlock
}

func (r *Refused) scriptOf(args []any) (refusedScript, bool) {
	if name := strings.ToLower(fmt.Sprint(args[0])); name != "evalsha" {
		return refusedScript{}, false
	}
	script, ok := r.scripts[fmt.Sprint(args[1])]
	return script, ok
}

func (r *Refused) try(names []string, unit [][]any, commands []string) {
	before := r.save()
	was := r.state()
	if errs := r.run(unit); errs != "" {
		r.tb.Errorf("%v fails without a refusal: %s", names, errs)
	}
	done := r.state()
	r.restore(before)
	for _, name := range names {
		if r.tried[name] == nil {
			r.tried[name] = map[string]bool{}
		}
	}
	for _, command := range commands {
		r.acl("-" + strings.ToLower(command))
		errs := r.run(unit)
		r.acl("+" + strings.ToLower(command))
		left := r.state()
		if errs == "" {
			if d := r.differ(left, done); d != "" {
				r.tb.Errorf("%v without %s, which is not noticed: %s", names, command, d)
			}
			r.restore(before)
			continue
		}
		for _, name := range names {
			r.tried[name][command] = true
		}
		notBefore, notAfter := r.differ(left, was), r.differ(left, done)
		if notBefore != "" && notAfter != "" && r.Recover == nil {
			r.tb.Errorf("%v stopped at %s. It is not what was before: %s\nIt is not all of the call: %s\n%s", names, command, notBefore, notAfter, errs)
		}
		if r.Recover != nil && notBefore != "" {
			if err := r.Recover(unit); err != nil {
				r.tb.Errorf("%v stopped at %s: %v", names, command, err)
			}
		} else if errs := r.run(unit); errs != "" {
			r.tb.Errorf("%v stopped at %s; the repeat fails: %s", names, command, errs)
		} else if d := r.differ(r.state(), done); d != "" {
			r.tb.Errorf("%v stopped at %s; the repeat ends in another state: %s", names, command, d)
		}
		r.restore(before)
	}
}

// run sends commands unchanged and returns their errors, and those of a transaction's answer, as text.
func (r *Refused) run(unit [][]any) string {
	if len(unit) == 0 {
		return ""
	}
	ctx := context.Background()
	conn := r.user.Conn()
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	pipe := conn.Pipeline()
	cmds := make([]*redis.Cmd, len(unit))
	for i, args := range unit {
		cmds[i] = redis.NewCmd(ctx, args...)
		_ = pipe.Process(ctx, cmds[i])
	}
	_, _ = pipe.Exec(ctx)
	var errs []string
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			errs = append(errs, err.Error())
		}
		if results, ok := cmd.Val().([]any); ok {
			for _, result := range results {
				if err, failed := result.(error); failed {
					errs = append(errs, err.Error())
				}
			}
		}
	}
	return strings.Join(errs, "; ")
}
