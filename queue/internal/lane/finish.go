package lane

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// What a queue keeps of messages that have ended, for people to look at.
const (
	deadKept      = 1000
	completedKept = 100
	// completedSize bounds a message that is kept when it is done, as it lies in Redis. Larger ones are removed at once.
	completedSize = 64 << 10
	// completedFor is how long asynq's janitor keeps messages that are done.
	completedFor = 7 * 24 * time.Hour
)

// Finish writes a decision to Redis and then drops the claim. While Redis is away it tries again, so that a delivery that was
// made is not made once more. After the grace period it gives up, and the lease lapses.
func (l *Lane) Finish(c *Claim, decision Decision) {
	defer l.drop(c)
	if decision.Disposition == Lost {
		return
	}
	for {
		ctx, cancel := context.WithTimeout(l.cfg.Phases.Writing, RedisTimeout)
		ours, err := l.write(ctx, c, decision)
		cancel()
		if err == nil {
			l.cfg.Outage.ended()
			switch {
			case ours:
			case c.sent.Load() > 1: // an earlier sending has perhaps written it, and its answer was lost
				l.log.Debug("the outcome of a delivery was written before, or its lease had lapsed", slog.String("message", c.ID))
				l.Notify(decision.Due)
			default:
				l.log.Warn("the answer of a delivery came when its lease had lapsed, and changes nothing",
					slog.String("message", c.ID), slog.String("outcome", string(decision.Disposition)))
			}
			return
		}
		l.cfg.Outage.failed(err)
		l.log.Debug("the outcome of a delivery waits for Redis", slog.String("message", c.ID), slog.Any("error", err))
		if !pause.For(l.cfg.Phases.Writing, l.cfg.Outage.pause()) {
			l.log.Error("the outcome of a delivery could not be stored; the message will be delivered again",
				slog.String("message", c.ID), slog.String("outcome", string(decision.Disposition)), slog.Any("error", err))
			return
		}
	}
}

// write reports whether the message was still ours.
func (l *Lane) write(ctx context.Context, c *Claim, decision Decision) (ours bool, err error) {
	call := l.callFor(c, decision)
	reply, err := l.cfg.Send.Run(ctx, call.Script, call.Keys, call.Args...)
	if err != nil {
		return false, err
	}
	code, err := script.Code(reply)
	if err != nil {
		return false, err
	}
	if code != 1 {
		return false, nil
	}
	if len(reply) > 1 && reply[1] == int64(1) {
		l.bell.ring()
	}
	if decision.Due != 0 {
		l.due.note(decision.Due)
	}
	return true, nil
}

// callFor returns the script that writes a decision, with its keys and arguments.
func (l *Lane) callFor(c *Claim, decision Decision) luascript.Call {
	k, now := &l.Keys, l.cfg.Clock.Now()
	task, owner := k.Task+c.ID, countedArg{c.Owner, &c.sent}
	processed, counterEnds := asynqbridge.Day(k.Processed, now)
	switch decision.Disposition {
	case Done:
		return luascript.Call{
			Script: l.cfg.Scripts.Done,
			Keys: []string{
				task, k.Active, k.Lease, k.Idempotency, processed, k.Processed, k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell, k.Completed,
			},
			Args: []any{
				c.ID, owner, counterEnds, k.Task, l.cfg.Process.RingText(0),
				int64(l.now()), now.Add(completedFor).Unix(), completedKept, completedSize,
			},
		}
	case Dead:
		failed, _ := asynqbridge.Day(k.Failed, now)
		return luascript.Call{
			Script: l.cfg.Scripts.Dead,
			Keys: []string{
				task, k.Active, k.Lease, k.Archived, k.Idempotency, processed, k.Processed, failed, k.Failed,
				k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell,
			},
			Args: []any{c.ID, owner, now.Unix(), decision.Reason, deadKept, k.Task, counterEnds, l.cfg.Process.RingText(0), int64(l.now())},
		}
	}
	ring, aside, place := l.cfg.Process.RingText(decision.Due), k.ThrottledAt(decision.App), now.UnixNano()
	switch decision.Disposition {
	case Throttled:
		ring += " " + decision.App // it may have capacity at another replica
	case Suspect:
		aside, place = k.SuspectsOf(decision.App), decision.Place
	}
	return luascript.Call{
		Script: l.cfg.Scripts.Requeue,
		Keys: []string{
			task, k.Active, k.Lease, k.Pending, k.Retry, k.WaitingForApp, k.Registrations, k.Bell,
			k.Running, k.Parked, k.Scheduled, k.Delayed, aside,
		},
		Args: []any{
			c.ID, owner, DueScore(decision.Due), string(decision.Disposition), decision.Reason, c.registrationsSeen, place, ring, k.Task, decision.Unseen,
			decision.worksOn(c), decision.Hold.Milliseconds(),
		},
	}
}
