package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// infoFields are read of each message, in this order.
var infoFields = []string{"msg", "state", "failed", "moved", "begun", "reason", "ended", "parked", "stalled"}

// infos reads messages; those that are gone are left out.
func (l *lane) infos(ctx context.Context, messageIDs []string) ([]world.MessageInfo, error) {
	if len(messageIDs) == 0 {
		return nil, nil
	}
	pipe := l.q.redis.Pipeline()
	fields := make([]*redis.SliceCmd, len(messageIDs))
	due := make([][2]*redis.FloatCmd, len(messageIDs))
	for i, id := range messageIDs {
		fields[i] = pipe.HMGet(ctx, l.keys.task+id, infoFields...)
		due[i] = [2]*redis.FloatCmd{pipe.ZScore(ctx, l.keys.scheduled, id), pipe.ZScore(ctx, l.keys.retry, id)}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, unreadable(fmt.Errorf("read messages: %w", err))
	}
	out := make([]world.MessageInfo, 0, len(messageIDs))
	for i, id := range messageIDs {
		text := make([]string, len(infoFields))
		for j, v := range fields[i].Val() {
			text[j], _ = v.(string) // nil when it is absent
		}
		if text[1] == "" {
			continue
		}
		info := l.info(id, text)
		if at := max(due[i][0].Val(), due[i][1].Val()); at > 0 {
			info.NextAt = world.Millis(at*1000 + 0.5)
		}
		out = append(out, info)
	}
	return out, nil
}

func (l *lane) info(id string, text []string) world.MessageInfo {
	count := func(s string) int {
		n, _ := strconv.Atoi(s) // 0 when it is absent
		return n
	}
	info := world.MessageInfo{
		MessageID: id, Kind: l.kind, State: stateOf(text[1], text[7] != "", text[8] != ""), EnqueuedAt: enqueuedAt(id),
		Failed: count(text[2]), Rescheduled: count(text[3]), Reason: text[5], EndedAt: world.Millis(count(text[6])),
	}
	info.Attempt = attemptOf(info, text[4])
	m, err := decodeStored(text[0])
	if err != nil {
		info.Reason = err.Error()
		return info
	}
	info.QueueName, info.RunID, info.StepID, info.DeploymentID = m.QueueName, m.RunID, m.StepID, m.DeploymentID
	info.IdempotencyKey, info.Size, info.ContentType = m.IdempotencyKey, len(m.Body), m.ContentType
	if info.State == world.MessageStalled {
		info.WaitsFor = m.DeploymentID
	}
	return info
}

func stateOf(asynqState string, parked, stalled bool) world.MessageState {
	switch {
	case asynqState == "archived":
		return world.MessageDead
	case asynqState == "scheduled" && parked:
		return world.MessageParked
	case asynqState == "retry" && stalled:
		return world.MessageStalled
	default:
		return world.MessageState(asynqState)
	}
}

// attemptOf is the number of the delivery that runs or comes next, as take.lua counts; of a
// message that has ended it is the last one's. begun says of an active one whether this is its
// first delivery.
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

// enqueuedAt reads the moment off a message id, 0 if there is none in it.
func enqueuedAt(id string) world.Millis {
	at, _ := ids.Time("msg_", id)
	return at
}

// decodeStored reads a message as asynq encodes it: a protocol buffer whose field 2 is ours.
func decodeStored(stored string) (world.Message, error) {
	const payload, varint, fixed64, sized, fixed32 = 2, 0, 1, 2, 5
	b := []byte(stored)
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return world.Message{}, errUndecodable
		}
		b = b[n:]
		var size uint64
		switch tag & 7 {
		case varint:
			if _, n = binary.Uvarint(b); n <= 0 {
				return world.Message{}, errUndecodable
			}
			size = uint64(n)
		case fixed64:
			size = 8
		case fixed32:
			size = 4
		case sized:
			if size, n = binary.Uvarint(b); n <= 0 {
				return world.Message{}, errUndecodable
			}
			b = b[n:]
		default:
			return world.Message{}, errUndecodable
		}
		if size > uint64(len(b)) {
			return world.Message{}, errUndecodable
		}
		if tag == payload<<3|sized {
			return decodeEnvelope(b[:size])
		}
		b = b[size:]
	}
	return world.Message{}, errUndecodable
}

var errUndecodable = errors.New("the stored message cannot be read")
