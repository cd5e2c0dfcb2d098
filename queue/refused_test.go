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
)

// Whichever command of a script Redis refuses, no message is lost or there twice: the repeat of the call ends as the call
// does, after a sweep where the message was taken from its place. So it is where Redis cannot be asked what a user may do.
func TestACommandThatIsRefusedBreaksNoMessage(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]string{"asked": "redis.acl_check_cmd", "as Redis 6.2, which cannot be asked": "redis.not_there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuseInQueue(t, asked)
		})
	}
}

// refuseInQueue has scripts ask Redis under another name what the user may do.
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
	s, err := loadScriptsOf(t.Context(), r.Client, files)
	require.NoError(t, err)
	q := &refusedQueue{t: t, r: r, scripts: s, k: keysOf("refused:", "refused_flows")}
	r.Visible = func(s redistest.State) {
		for _, statistics := range []string{q.k.processed, q.k.failed, q.k.processed + ":day", q.k.failed + ":day"} {
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
	scripts *scripts
	k       laneKeys
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
	reply := q.run(q.scripts.enqueue, []string{k.task + id, k.pending, k.scheduled, k.idempotency, k.request + id, k.bell, k.waiting, k.ofRun + "run"},
		id, "body", refusedNow*1e6, due, "key "+id, 60_000, k.task, "ring", wait, solo, "run", "")
	require.Equal(q.t, []any{int64(0), id}, reply)
	return id
}

// take takes what is pending. What a refused call has taken from its place the sweep gives back.
func (q *refusedQueue) take() (n int) {
	q.t.Helper()
	q.r.Recover = func([][]any) error { return q.sweepBack() }
	defer func() { q.r.Recover = nil }()
	k := q.k
	reply := q.run(q.scripts.claim, []string{k.pending, k.paused, k.active, k.lease, k.waitingForApp, k.wakes, k.waiting, k.running, k.parked, k.scheduled, k.delayed},
		k.task, refusedOwner, 10, 12, refusedNow, 0, score(2_000_000_000_000), "")
	return (len(reply) - 2) / 7
}

// sweepKeys and sweepArgs are those of a sweep after which no lease is kept.
func (q *refusedQueue) sweepKeys() []string {
	k := q.k
	return []string{k.pending, k.active, k.lease, k.scheduled, k.retry, k.bell, k.running, k.parked}
}

func (q *refusedQueue) sweepArgs(now int64, held ...any) []any {
	return append([]any{q.k.task, fmt.Sprint(now), 12, "1", 500, refusedNow * 1e6, "ring", 100, 10, 0, ""}, held...)
}

func (q *refusedQueue) sweepBack() error {
	client := redistest.Client(q.t, q.r.Server.Addr)
	if err := client.Del(q.t.Context(), q.k.lease).Err(); err != nil { // it lapses
		return err
	}
	_, err := q.scripts.sweep.Run(q.t.Context(), client, q.sweepKeys(), q.sweepArgs(refusedNow/1000)...)
	return err
}

func (q *refusedQueue) done(id string) { q.doneKept(id, 64<<10) }

// doneKept ends a message, which is kept if it is no larger.
func (q *refusedQueue) doneKept(id string, largest int) {
	q.t.Helper()
	// What is done in part is done by the repeat.
	q.r.Recover = func([][]any) error { return nil }
	defer func() { q.r.Recover = nil }()
	k := q.k
	q.run(q.scripts.done, []string{k.task + id, k.active, k.lease, k.idempotency, k.processed + ":day", k.processed, k.running, k.parked, k.scheduled, k.pending, k.bell, k.completed},
		id, refusedOwner, 4_000_000_000, k.task, "ring", refusedNow, 4_000_000_000, 100, largest)
}

func (q *refusedQueue) again(id, due, why string) {
	q.t.Helper()
	k := q.k
	q.run(q.scripts.requeue, []string{k.task + id, k.active, k.lease, k.pending, k.retry, k.waitingForApp, k.wakes, k.bell, k.running, k.parked, k.scheduled, k.delayed, k.throttled + refusedApp},
		id, refusedOwner, due, why, "reason", "0", refusedNow*1e6, "ring 1", k.task, "1", "", "100")
}

func (q *refusedQueue) dead(id string) {
	q.t.Helper()
	k := q.k
	q.run(q.scripts.dead, []string{k.task + id, k.active, k.lease, k.archived, k.idempotency, k.processed + ":day", k.processed, k.failed + ":day", k.failed, k.running, k.parked, k.scheduled, k.pending, k.bell},
		id, refusedOwner, refusedNow/1000, "reason", 1000, k.task, 4_000_000_000, "ring", refusedNow)
}

func (q *refusedQueue) ends() {
	k := q.k
	first, second := q.add("", ""), q.add("", "")
	require.Equal(q.t, 2, q.take())
	q.run(q.scripts.begin, []string{k.task + first, k.lease}, first, refusedOwner, 12, refusedApp)
	q.done(first)
	q.dead(second)
	q.run(q.scripts.redrive, []string{k.task + second, k.archived, k.pending, k.idempotency, k.bell}, second, refusedNow*1e6, k.task, "ring")
	require.Equal(q.t, 1, q.take())
	q.doneKept(second, 0)
	q.run(q.scripts.register, []string{"refused:apps"}, "field", "record", 10)
}

// wakeUps are of a run whose deliveries must not overlap.
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
	require.NoError(q.t, q.r.Client.HDel(q.t.Context(), k.running, "run_1").Err())
	q.run(q.scripts.endCooldown, []string{k.coolingDown + "run_1", k.running, k.parked, k.scheduled, k.pending, k.bell}, "run_1", k.task, refusedNow*1e6, "ring")
	q.done(sixth)
	q.run(q.scripts.forget, []string{k.pending, k.scheduled, k.retry, k.waitingForApp, k.waiting, k.parked, k.delayed, k.ofRun + "run"}, k.task, 100, 100, "0")
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
			q.run(q.scripts.wake, []string{k.waitingForApp, k.retry, k.wakes, k.bell}, k.task, 10, "1800000000.000", "ring")
		case "crowded":
			q.run(q.scripts.forward, []string{k.throttled + refusedApp, k.retry, k.pending, k.bell}, k.task, 10, refusedNow*1e6, "ring")
			require.Equal(q.t, 1, q.take())
			q.done(id)
		case "returned":
			require.Equal(q.t, 1, q.take())
			require.NoError(q.t, q.r.Client.HSet(q.t.Context(), k.task+id, "over", 1).Err())
			q.again(id, "", "failed")
		}
	}
	require.NoError(q.t, q.r.Client.Del(q.t.Context(), k.wakes).Err())
	for _, why := range []string{"stalled", "crowded"} { // due before they are brought forward
		id := q.add("", "")
		require.Equal(q.t, 1, q.take())
		q.again(id, "1800000000.000", why)
	}
	q.run(q.scripts.sweep, q.sweepKeys(), q.sweepArgs(1_800_000_001)...)
	require.Equal(q.t, 3, q.take(), "with the one that was woken")
	q.add("run_2", "1900000000.000")
	q.run(q.scripts.forget, []string{k.pending, k.scheduled, k.retry, k.waitingForApp, k.waiting, k.parked, k.delayed, k.ofRun + "run"}, k.task, 100, 100, "0")
}

func (q *refusedQueue) crashes() {
	k := q.k
	id := q.add("", "")
	require.Equal(q.t, 1, q.take())
	crash := []string{k.task + id, k.interrupted + refusedApp, k.suspect + refusedApp}
	suspect := func(interruptedOf string) {
		q.run(q.scripts.suspect, append(crash[:3:3], k.suspects+refusedApp, k.interrupted+interruptedOf),
			id, refusedOwner, k.task, 1, "0", 2, 60, 60_000, 1000, 60, 3600, "0")
	}
	for crashes := range 3 {
		q.run(q.scripts.crashed, crash, id, refusedOwner, crashes+1, 10, 3600, 20)
	}
	require.NoError(q.t, q.r.Client.HSet(q.t.Context(), k.task+id, "crashes", 3).Err())
	require.NoError(q.t, q.r.Client.Rename(q.t.Context(), k.interrupted+refusedApp, k.interrupted+"other").Err())
	suspect("other")
	suspect(refusedApp)
	require.NoError(q.t, q.r.Client.HDel(q.t.Context(), k.task+id, "crash").Err())
	q.run(q.scripts.crashed, crash, id, refusedOwner, 4, 10, 3600, 20)
	suspect(refusedApp)
	q.run(q.scripts.interrupted, []string{k.interrupted + refusedApp}, k.task, 60, 9)
	q.run(q.scripts.cleared, crash, id, refusedOwner, k.task, 2)
}

func (q *refusedQueue) upkeep() {
	first := q.add("run_1", "")
	q.add("run_1", "")
	q.add("", "1800000000.000")
	require.Equal(q.t, 1, q.take())
	q.run(q.scripts.sweep, q.sweepKeys(), q.sweepArgs(1_700_000_000, first, refusedOwner, refusedApp)...)
	require.NoError(q.t, q.r.Client.Del(q.t.Context(), q.k.lease).Err())
	q.run(q.scripts.sweep, q.sweepKeys(), q.sweepArgs(2_100_000_000)...)
	require.LessOrEqual(q.t, 1, q.take())
}

// lostAnswers are those of calls that took wake-ups of two runs, one of which has ended.
func (q *refusedQueue) lostAnswers() {
	k := q.k
	lost := func() {
		q.run(q.scripts.lostAnswer, []string{k.pending, k.active, k.lease, k.scheduled, k.bell, k.running, k.parked},
			k.task, refusedNow*1e6, "ring", "-inf", 0, refusedOwner)
	}
	q.add("run_4", "")
	ended := q.add("run_5", "")
	q.add("run_4", "") // is parked
	require.Equal(q.t, 2, q.take())
	require.NoError(q.t, q.r.Client.HSet(q.t.Context(), k.task+ended, "over", 1).Err())
	lost()
	require.Equal(q.t, 1, q.take())
	lost()
	require.Equal(q.t, 1, q.take())
}

// removed drops messages of several states by hand.
func (q *refusedQueue) removed() {
	k := q.k
	remove := func(id string, code int64) {
		keys := []string{k.task + id, k.pending, k.scheduled, k.retry, k.archived, k.completed, k.waitingForApp, k.waiting, k.parked, k.delayed}
		require.Equal(q.t, []any{code}, q.run(q.scripts.remove, keys, id, 100))
	}
	active := q.add("run_3", "")
	require.Equal(q.t, 1, q.take())
	remove(active, 1)
	remove(q.add("run_3", ""), 0)
	remove(q.add("", "1900000000.000"), 0)
	q.done(active)
}
