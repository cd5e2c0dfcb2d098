package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

// infoFields are the fields that are read of each message, in this order. The message itself comes before them.
var infoFields = []string{"state", "failed", "moved", "begun", "reason", "ended", "parked", "stalled"}

// infoPortion bounds the size of the messages that are read at a time, in bytes. A message can only be read whole, and Redis
// holds the whole reply in memory before it sends it.
const infoPortion = 1 << 20

// infoHead is what is read of a message before its body.
type infoHead struct {
	id     string
	fields *redis.SliceCmd
	due    [2]*redis.FloatCmd
	size   *redis.IntCmd
}

// infoHeads reads the heads of messages.
func (w *worker) infoHeads(ctx context.Context, messageIDs []string) ([]infoHead, error) {
	if len(messageIDs) == 0 {
		return nil, nil
	}
	pipe := w.q.redis.Pipeline()
	heads := make([]infoHead, len(messageIDs))
	for i, id := range messageIDs {
		task := w.Keys.Task + id
		heads[i] = infoHead{
			id: id, fields: pipe.HMGet(ctx, task, infoFields...), size: pipe.HStrLen(ctx, task, "msg"),
			due: [2]*redis.FloatCmd{pipe.ZScore(ctx, w.Keys.Scheduled, id), pipe.ZScore(ctx, w.Keys.Retry, id)},
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unreadable(fmt.Errorf("read messages: %w", err))
	}
	return heads, nil
}

// infos reads the messages of heads. It omits those that are gone.
func (w *worker) infos(ctx context.Context, heads []infoHead) ([]world.MessageInfo, error) {
	out := make([]world.MessageInfo, 0, len(heads))
	for len(heads) > 0 {
		n, size := 0, 0
		for n < len(heads) && (n == 0 || size+int(heads[n].size.Val()) <= infoPortion) {
			size += int(heads[n].size.Val())
			n++
		}
		pipe := w.q.redis.Pipeline()
		messages := make([]*redis.StringCmd, n)
		for i, h := range heads[:n] {
			messages[i] = pipe.HGet(ctx, w.Keys.Task+h.id, "msg")
		}
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return nil, unreadable(fmt.Errorf("read messages: %w", err))
		}
		for i, h := range heads[:n] {
			text := make([]string, 1+len(infoFields))
			text[0] = messages[i].Val()
			for j, v := range h.fields.Val() {
				text[1+j], _ = v.(string) // nil when it is absent
			}
			if text[0] == "" || text[1] == "" {
				continue
			}
			info := w.info(h.id, text)
			if at := max(h.due[0].Val(), h.due[1].Val()); at > 0 {
				info.NextAt = world.Millis(at*1000 + 0.5)
			}
			out = append(out, info)
		}
		heads = heads[n:]
	}
	return out, nil
}

// infosOf reads messages by their ids.
func (w *worker) infosOf(ctx context.Context, messageIDs []string) ([]world.MessageInfo, error) {
	heads, err := w.infoHeads(ctx, messageIDs)
	if err != nil {
		return nil, err
	}
	return w.infos(ctx, heads)
}

func (w *worker) info(id string, text []string) world.MessageInfo {
	count := func(s string) int {
		n, _ := strconv.Atoi(s) // 0 when it is absent
		return n
	}
	info := world.MessageInfo{
		MessageID: id, Kind: w.Kind, State: stateOf(text[1], text[7] != "", text[8] != ""), EnqueuedAt: enqueuedAt(id),
		Failed: count(text[2]), Rescheduled: count(text[3]), Reason: text[5], EndedAt: world.Millis(count(text[6])),
	}
	info.Attempt = attemptOf(info, text[4])
	m, err := asynqbridge.Decode(text[0])
	if err != nil {
		info.Reason = err.Error()
		return info
	}
	info.QueueName, info.RunID, info.StepID, info.DeploymentID = m.QueueName, m.RunID, m.StepID, m.DeploymentID
	info.IdempotencyKey, info.Size, info.ContentType = m.IdempotencyKey, len(m.Body), m.ContentType
	if info.State == world.MessageWaitingForApp {
		info.WaitsFor = m.DeploymentID
	}
	return info
}

func stateOf(asynqState string, parked, waitingForApp bool) world.MessageState {
	switch {
	case asynqState == "archived":
		return world.MessageDead
	case asynqState == "scheduled" && parked:
		return world.MessageParked
	case asynqState == "retry" && waitingForApp:
		return world.MessageWaitingForApp
	default:
		return world.MessageState(asynqState)
	}
}

// attemptOf is the number of the delivery that runs or comes next, as claim.lua counts. For a
// message that has ended it is the number of the last one. begun says whether the delivery of an active message is its
// first.
func attemptOf(m world.MessageInfo, begun string) int {
	n := 1 + m.Failed
	if m.State == world.MessageDead {
		n-- // the last delivery is counted as failed already
	}
	first := m.State == world.MessageActive || m.State == world.MessageCompleted || m.State == world.MessageDead
	if m.Rescheduled > 0 || m.Failed == 0 && begun != "" && (!first || begun == "before") {
		n++
	}
	return max(n, 1)
}

// enqueuedAt returns the time in a message id, or 0 if it has none.
func enqueuedAt(id string) world.Millis {
	at, _ := ids.Time("msg_", id)
	return at
}
