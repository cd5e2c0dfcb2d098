package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

// Each queue has a set for each run: its messages that are neither done nor dead. The
// scripts change it together with the message, and it is gone with the last message.

// Outstanding reports for each run whether it has a message that is pending,
// delayed, waiting or being delivered. Messages that were enqueued by a version
// without these sets do not count.
func (q *Queue) Outstanding(ctx context.Context, runIDs []string) ([]bool, error) {
	pipe := q.redis.Pipeline()
	var found [][2]*redis.IntCmd
	for _, runID := range runIDs {
		part := rediskey.Part(runID)
		found = append(found, [2]*redis.IntCmd{pipe.Exists(ctx, q.flows.Keys.OfRun+part), pipe.Exists(ctx, q.steps.Keys.OfRun+part)})
	}
	if len(runIDs) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	out := make([]bool, len(runIDs))
	for i, f := range found {
		out[i] = f[0].Val()+f[1].Val() > 0
	}
	return out, nil
}

// dueLooks is how many messages of a run are checked for their due time. A run with more counts as busy.
const dueLooks = 16

// messagesOf are some messages of a run in one queue, and when the delayed ones are due.
type messagesOf struct {
	run              int
	worker           *worker
	ids              *redis.StringSliceCmd
	scheduled, retry *redis.FloatSliceCmd // 0: it is not there
}

// NextDue returns for each run when the first of its messages is due. That is long ago while one is pending, parked, or being
// delivered, and 0 if there is none ([Queue.Outstanding]). It takes two small reads for a run without messages, four or six for
// others, and two round trips.
func (q *Queue) NextDue(ctx context.Context, runIDs []string) ([]world.Millis, error) {
	out := make([]world.Millis, len(runIDs))
	if len(runIDs) == 0 {
		return out, nil
	}
	var all []*messagesOf
	pipe := q.redis.Pipeline()
	for i, runID := range runIDs {
		for _, w := range q.workers() {
			all = append(all, &messagesOf{run: i, worker: w, ids: pipe.SRandMemberN(ctx, w.Keys.OfRun+rediskey.Part(runID), dueLooks+1)})
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	pipe = q.redis.Pipeline()
	for _, m := range all {
		if ids := m.ids.Val(); len(ids) > 0 && len(ids) <= dueLooks {
			m.scheduled, m.retry = pipe.ZMScore(ctx, m.worker.Keys.Scheduled, ids...), pipe.ZMScore(ctx, m.worker.Keys.Retry, ids...)
		}
	}
	if pipe.Len() > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
		}
	}
	for _, m := range all {
		if due := m.due(); due != 0 && (out[m.run] == 0 || due < out[m.run]) {
			out[m.run] = due
		}
	}
	return out, nil
}

// due is when the first of the messages is due, or 0 if there is none.
func (m *messagesOf) due() world.Millis {
	const now = world.Millis(1)
	if len(m.ids.Val()) > dueLooks {
		return now
	}
	first := world.Millis(0)
	for i := range m.ids.Val() {
		due := max(now, world.Millis(1000*(m.scheduled.Val()[i]+m.retry.Val()[i])))
		if first == 0 || due < first {
			first = due
		}
	}
	return first
}

const (
	// stepMessagesMost and stepMessageSize bound what StepMessages reads of a run. A run with more messages, or
	// larger ones, counts as busy.
	stepMessagesMost = 16
	stepMessageSize  = 4 << 10
)

// StepMessages returns the messages of each run if all of them are for steps and none is being
// delivered. It returns none for a run with many messages, or large ones. It costs
// two reads per run and three per message, and no more for a run that has a plain wake-up.
func (q *Queue) StepMessages(ctx context.Context, runIDs []string) ([][]world.Message, error) {
	out := make([][]world.Message, len(runIDs))
	heads, err := q.messageHeads(ctx, runIDs)
	if err != nil {
		return nil, err
	}
	pipe := q.redis.Pipeline()
	bodies := make([][]*redis.StringCmd, len(runIDs))
	for i, ofRun := range heads {
		for _, h := range ofRun {
			fields := h.fields.Val()
			state, _ := fields[0].(string) // nil when it is absent
			if state == "" {
				continue // gone meanwhile
			}
			if state == "active" || fields[1] != nil || h.size.Val() > stepMessageSize {
				bodies[i] = nil
				break
			}
			bodies[i] = append(bodies[i], pipe.HGet(ctx, h.task, "msg"))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	for i, ofRun := range bodies {
		for _, body := range ofRun {
			m, err := asynqbridge.Decode(body.Val())
			if err != nil || m.StepID == "" {
				out[i] = nil
				break
			}
			out[i] = append(out[i], m)
		}
	}
	return out, nil
}

// messageHead is what is read of a message before its body.
type messageHead struct {
	task   string
	fields *redis.SliceCmd // state, and whether it is a plain wake-up
	size   *redis.IntCmd
}

// messageHeads returns those of each run that has no more messages than stepMessagesMost.
func (q *Queue) messageHeads(ctx context.Context, runIDs []string) ([][]messageHead, error) {
	pipe := q.redis.Pipeline()
	found := make([][]*redis.StringSliceCmd, len(runIDs))
	for i, runID := range runIDs {
		for _, w := range q.workers() {
			found[i] = append(found[i], pipe.SRandMemberN(ctx, w.Keys.OfRun+rediskey.Part(runID), stepMessagesMost+1))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	heads := make([][]messageHead, len(runIDs))
	for i, ofRun := range found {
		if len(ofRun[0].Val())+len(ofRun[1].Val()) > stepMessagesMost {
			continue
		}
		for lane, w := range q.workers() {
			for _, id := range ofRun[lane].Val() {
				task := w.Keys.Task + id
				heads[i] = append(heads[i], messageHead{task: task, fields: pipe.HMGet(ctx, task, "state", "wait"), size: pipe.HStrLen(ctx, task, "msg")})
			}
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unreadable(fmt.Errorf("messages of runs: %w", err))
	}
	return heads, nil
}
