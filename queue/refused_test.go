package queue

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/queue/internal/lane"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// Redis refuses each command of each script in turn: no message is lost or duplicated, and the repeated call has the
// same result as the call, after a sweep if the message was removed from its list. This also holds where Redis cannot
// be asked for a user's rights.
func TestACommandThatIsRefusedBreaksNoMessage(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]string{"asked": "redis.acl_check_cmd", "as Redis 6.2, which cannot be asked": "redis.not_there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuseInQueue(t, asked)
		})
	}
}

// refuseInQueue makes scripts ask Redis under another name for the user's rights.
func refuseInQueue(t *testing.T, asked string) {
	t.Helper()
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(luaFiles, "lua", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(luaFiles, file)
		files[file] = &fstest.MapFile{Data: bytes.ReplaceAll(text, []byte("redis.acl_check_cmd"), []byte(asked))}
		return err
	}))
	names, err := fs.Glob(files, "lua/*.lua")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".lua")
		script, err := luascript.Load(files, "lua", name)
		require.NoError(t, err)
		texts[name] = script.Sent
	}
	r := redistest.NewRefused(t, texts)
	set, err := script.Load(t.Context(), r.Client, files)
	require.NoError(t, err)
	q := &refusedQueue{t: t, r: r, scripts: set, k: lane.KeysOf("refused:", "refused_flows")}
	r.Visible = func(s redistest.State) {
		for _, statistics := range []string{q.k.Processed, q.k.Failed, q.k.Processed + ":day", q.k.Failed + ":day"} {
			delete(s, statistics) // asynq's own, which nothing depends on
		}
	}
	for _, part := range []func(){q.ends, q.wakeUps, q.comesAgain, q.crashes, q.upkeep, q.lostAnswers, q.removed} {
		part()
		r.Clear()
	}
	r.Check(texts, map[string]string{
		"done ZPOPMIN": "a hundred are kept", "interrupted ZREM": "it is all that it writes",
		"enqueue DEL": "takes back what was refused", "enqueue HDEL": "as before",
	})
}

// refusedQueue makes the calls of the scripts as the queue does.
type refusedQueue struct {
	t       *testing.T
	r       *redistest.Refused
	scripts *script.Set
	k       lane.Keys
	n       int
}

const (
	refusedOwner = "owner"
	refusedNow   = int64(1_800_000_000_000)
	refusedApp   = "http://app"
)

func (q *refusedQueue) run(s *luascript.Script, keys []string, args ...any) []any {
	q.t.Helper()
	reply, err := s.Run(q.t.Context(), q.r.Client, keys, args...)
	require.NoError(q.t, err, s.Name)
	return reply
}

// add enqueues a message. solo: run whose deliveries must not overlap; due: in seconds, empty: now.
func (q *refusedQueue) add(solo, due string) (id string) {
	q.t.Helper()
	q.n++
	id = fmt.Sprintf("msg_%d", q.n)
	wait := ""
	if solo != "" && due == "" {
		wait = "wait " + id
	}
	k := q.k
	reply := q.run(q.scripts.Enqueue, []string{k.Task + id, k.Pending, k.Scheduled, k.Idempotency, k.Request + id, k.Bell, k.Waiting, k.OfRun + "run"},
		id, "body", refusedNow*1e6, due, "key "+id, 60_000, k.Task, "ring", wait, solo, "run", "")
	require.Equal(q.t, []any{int64(0), id}, reply)
	return id
}

// take claims the pending messages. The sweep puts back those that a refused call has moved.
func (q *refusedQueue) take() (n int) {
	q.t.Helper()
	q.r.Recover = func([][]any) error { return q.sweepBack() }
	defer func() { q.r.Recover = nil }()
	k := q.k
	reply := q.run(q.scripts.Claim, []string{k.Pending, k.Paused, k.Active, k.Lease, k.WaitingForApp, k.Registrations, k.Waiting, k.Running, k.Parked, k.Scheduled, k.Delayed},
		k.Task, refusedOwner, 10, 12, refusedNow, 0, lane.Score(2_000_000_000_000), "")
	return (len(reply) - 2) / 7
}

// sweepKeys and sweepArgs are those of a sweep after which no lease is left.
func (q *refusedQueue) sweepKeys() []string {
	k := q.k
	return []string{k.Pending, k.Active, k.Lease, k.Scheduled, k.Retry, k.Bell, k.Running, k.Parked}
}

func (q *refusedQueue) sweepArgs(now int64, held ...any) []any {
	return append([]any{q.k.Task, fmt.Sprint(now), 12, "1", 500, refusedNow * 1e6, "ring", 100, 10, 0, ""}, held...)
}

func (q *refusedQueue) sweepBack() error {
	client := redistest.Client(q.t, q.r.Server.Addr)
	if err := client.Del(q.t.Context(), q.k.Lease).Err(); err != nil { // it lapses
		return err
	}
	_, err := q.scripts.Sweep.Run(q.t.Context(), client, q.sweepKeys(), q.sweepArgs(refusedNow/1000)...)
	return err
}

func (q *refusedQueue) done(id string) { q.doneKept(id, 64<<10) }

// doneKept finishes a message, whose body is kept if it is no larger.
func (q *refusedQueue) doneKept(id string, largest int) {
	q.t.Helper()
	// The repeat completes what was done in part.
	q.r.Recover = func([][]any) error { return nil }
	defer func() { q.r.Recover = nil }()
	k := q.k
	q.run(q.scripts.Done, []string{k.Task + id, k.Active, k.Lease, k.Idempotency, k.Processed + ":day", k.Processed, k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell, k.Completed},
		id, refusedOwner, 4_000_000_000, k.Task, "ring", refusedNow, 4_000_000_000, 100, largest)
}

func (q *refusedQueue) again(id, due, why string) {
	q.t.Helper()
	k := q.k
	q.run(q.scripts.Requeue, []string{k.Task + id, k.Active, k.Lease, k.Pending, k.Retry, k.WaitingForApp, k.Registrations, k.Bell, k.Running, k.Parked, k.Scheduled, k.Delayed, k.Throttled + refusedApp},
		id, refusedOwner, due, why, "reason", "0", refusedNow*1e6, "ring 1", k.Task, "1", "", "100")
}

func (q *refusedQueue) dead(id string) {
	q.t.Helper()
	k := q.k
	q.run(q.scripts.Dead, []string{k.Task + id, k.Active, k.Lease, k.Archived, k.Idempotency, k.Processed + ":day", k.Processed, k.Failed + ":day", k.Failed, k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell},
		id, refusedOwner, refusedNow/1000, "reason", 1000, k.Task, 4_000_000_000, "ring", refusedNow)
}

func (q *refusedQueue) ends() {
	k := q.k
	first, second := q.add("", ""), q.add("", "")
	require.Equal(q.t, 2, q.take())
	q.run(q.scripts.Begin, []string{k.Task + first, k.Lease}, first, refusedOwner, 12, refusedApp)
	q.done(first)
	q.dead(second)
	q.run(q.scripts.Redrive, []string{k.Task + second, k.Archived, k.Pending, k.Idempotency, k.Bell}, second, refusedNow*1e6, k.Task, "ring")
	require.Equal(q.t, 1, q.take())
	q.doneKept(second, 0)
	q.run(q.scripts.Register, []string{"refused:apps"}, "field", "record", 10)
	require.Equal(q.t, []any{int64(1)}, q.run(q.scripts.ReplaceApp, []string{"refused:apps"}, "field", "record", "another"))
}

// wakeUps are messages of a run whose deliveries must not overlap.
func (q *refusedQueue) wakeUps() {
	k := q.k
	first, second, third := q.add("run_1", ""), q.add("run_1", ""), q.add("run_1", "")
	require.Equal(q.t, 1, q.take(), "one is parked, and one dropped")
	_ = third
	q.done(first)
	require.Equal(q.t, 1, q.take())
	fourth := q.add("run_1", "")
	require.Equal(q.t, 0, q.take())
	q.dead(second)
	require.Equal(q.t, 1, q.take())
	q.again(fourth, "1900000000.000", "moved")
	fifth := q.add("run_1", "")
	require.Equal(q.t, 1, q.take())
	q.again(fifth, "1850000000.000", "moved") // drops the later one
	sixth := q.add("run_1", "")
	require.Equal(q.t, 1, q.take())
	q.add("run_1", "")
	require.Equal(q.t, 0, q.take())
	require.NoError(q.t, q.r.Client.HDel(q.t.Context(), k.Running, "run_1").Err())
	q.run(q.scripts.EndCooldown, []string{k.CoolingDown + "run_1", k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell}, "run_1", k.Task, refusedNow*1e6, "ring")
	q.done(sixth)
	q.run(q.scripts.Forget, []string{k.Pending, k.Scheduled, k.Retry, k.WaitingForApp, k.Waiting, k.Parked, k.Delayed, k.OfRun + "run"}, k.Task, 100, 100, "0")
}

func (q *refusedQueue) comesAgain() {
	k := q.k
	for _, why := range []string{"failed", "stalled", "crowded", "returned"} {
		id := q.add("", "")
		require.Equal(q.t, 1, q.take())
		due := "1900000000.000"
		if why == "returned" {
			due = ""
		}
		q.again(id, due, why)
		switch why {
		case "stalled":
			q.run(q.scripts.Wake, []string{k.WaitingForApp, k.Retry, k.Registrations, k.Bell}, k.Task, 10, "1800000000.000", "ring")
		case "crowded":
			q.run(q.scripts.Forward, []string{k.Throttled + refusedApp, k.Retry, k.Pending, k.Bell}, k.Task, 10, refusedNow*1e6, "ring")
			require.Equal(q.t, 1, q.take())
			q.done(id)
		case "returned":
			require.Equal(q.t, 1, q.take())
			require.NoError(q.t, q.r.Client.HSet(q.t.Context(), k.Task+id, "over", 1).Err())
			q.again(id, "", "failed")
		}
	}
	require.NoError(q.t, q.r.Client.Del(q.t.Context(), k.Registrations).Err())
	for _, why := range []string{"stalled", "crowded"} { // due before they are brought forward
		id := q.add("", "")
		require.Equal(q.t, 1, q.take())
		q.again(id, "1800000000.000", why)
	}
	q.run(q.scripts.Sweep, q.sweepKeys(), q.sweepArgs(1_800_000_001)...)
	require.Equal(q.t, 3, q.take(), "with the one that was woken")
	q.add("run_2", "1900000000.000")
	q.run(q.scripts.Forget, []string{k.Pending, k.Scheduled, k.Retry, k.WaitingForApp, k.Waiting, k.Parked, k.Delayed, k.OfRun + "run"}, k.Task, 100, 100, "0")
}

func (q *refusedQueue) crashes() {
	k := q.k
	id := q.add("", "")
	require.Equal(q.t, 1, q.take())
	crash := []string{k.Task + id, k.Interrupted + refusedApp, k.Suspect + refusedApp}
	suspect := func(interruptedOf string) {
		q.run(q.scripts.Suspect, append(crash[:3:3], k.Suspects+refusedApp, k.Interrupted+interruptedOf),
			id, refusedOwner, k.Task, 1, "0", 2, 60, 60_000, 1000, 60, 3600, "0")
	}
	for crashes := range 3 {
		q.run(q.scripts.Crashed, crash, id, refusedOwner, crashes+1, 10, 3600, 20)
	}
	require.NoError(q.t, q.r.Client.HSet(q.t.Context(), k.Task+id, "crashes", 3).Err())
	require.NoError(q.t, q.r.Client.Rename(q.t.Context(), k.Interrupted+refusedApp, k.Interrupted+"other").Err())
	suspect("other")
	suspect(refusedApp)
	require.NoError(q.t, q.r.Client.HDel(q.t.Context(), k.Task+id, "crash").Err())
	q.run(q.scripts.Crashed, crash, id, refusedOwner, 4, 10, 3600, 20)
	suspect(refusedApp)
	q.run(q.scripts.Interrupted, []string{k.Interrupted + refusedApp}, k.Task, 60, 9)
	q.run(q.scripts.Cleared, crash, id, refusedOwner, k.Task, 2)
}

func (q *refusedQueue) upkeep() {
	first := q.add("run_1", "")
	q.add("run_1", "")
	q.add("", "1800000000.000")
	require.Equal(q.t, 1, q.take())
	q.run(q.scripts.Sweep, q.sweepKeys(), q.sweepArgs(1_700_000_000, first, refusedOwner, refusedApp)...)
	require.NoError(q.t, q.r.Client.Del(q.t.Context(), q.k.Lease).Err())
	q.run(q.scripts.Sweep, q.sweepKeys(), q.sweepArgs(2_100_000_000)...)
	require.LessOrEqual(q.t, 1, q.take())
}

// lostAnswers undoes calls that claimed wake-ups of two runs, one of which has ended.
func (q *refusedQueue) lostAnswers() {
	k := q.k
	lost := func() {
		q.run(q.scripts.LostAnswer, []string{k.Pending, k.Active, k.Lease, k.Scheduled, k.Bell, k.Running, k.Parked},
			k.Task, refusedNow*1e6, "ring", "-inf", 0, refusedOwner)
	}
	q.add("run_4", "")
	ended := q.add("run_5", "")
	q.add("run_4", "") // is parked
	require.Equal(q.t, 2, q.take())
	require.NoError(q.t, q.r.Client.HSet(q.t.Context(), k.Task+ended, "over", 1).Err())
	lost()
	require.Equal(q.t, 1, q.take())
	lost()
	require.Equal(q.t, 1, q.take())
}

// removed drops messages of several states by hand.
func (q *refusedQueue) removed() {
	k := q.k
	remove := func(id string, code int64) {
		keys := []string{k.Task + id, k.Pending, k.Scheduled, k.Retry, k.Archived, k.Completed, k.WaitingForApp, k.Waiting, k.Parked, k.Delayed}
		require.Equal(q.t, []any{code}, q.run(q.scripts.Remove, keys, id, 100))
	}
	active := q.add("run_3", "")
	require.Equal(q.t, 1, q.take())
	remove(active, 1)
	remove(q.add("run_3", ""), 0)
	remove(q.add("", "1900000000.000"), 0)
	q.done(active)
}
