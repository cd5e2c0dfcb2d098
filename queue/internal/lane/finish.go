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
func (l *Lane) Finish(c *Claim, o Decision) {
	defer l.drop(c)
	if o.Disposition == Lost {
		return
	}
	for {
		ctx, cancel := context.WithTimeout(l.cfg.Phases.Writing, RedisTimeout)
		ours, err := l.write(ctx, c, o)
		cancel()
		if err == nil {
			l.cfg.Outage.ended()
			switch {
			case ours:
			case c.sent.Load() > 1: // an earlier sending has perhaps written it, and its answer was lost
				l.log.Debug("the outcome of a delivery was written before, or its lease had lapsed", slog.String("message", c.ID))
				l.Notify(o.Due)
			default:
				l.log.Warn("the answer of a delivery came when its lease had lapsed, and changes nothing",
					slog.String("message", c.ID), slog.String("outcome", string(o.Disposition)))
			}
			return
		}
		l.cfg.Outage.failed(err)
		l.log.Debug("the outcome of a delivery waits for Redis", slog.String("message", c.ID), slog.Any("error", err))
		if !pause.For(l.cfg.Phases.Writing, l.cfg.Outage.pause()) {
			l.log.Error("the outcome of a delivery could not be stored; the message will be delivered again",
				slog.String("message", c.ID), slog.String("outcome", string(o.Disposition)), slog.Any("error", err))
			return
		}
	}
}

// write reports whether the message was still ours.
func (l *Lane) write(ctx context.Context, c *Claim, o Decision) (ours bool, err error) {
	call := l.callFor(c, o)
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
	if o.Due != 0 {
		l.due.note(o.Due)
	}
	return true, nil
}

// callFor returns the script that writes a decision, with its keys and arguments.
func (l *Lane) callFor(c *Claim, o Decision) luascript.Call {
	k, now := &l.Keys, l.cfg.Clock.Now()
	task, owner := k.Task+c.ID, countedArg{c.Owner, &c.sent}
	processed, counterEnds := asynqbridge.Day(k.Processed, now)
	switch o.Disposition {
	case Done:
		return luascript.Call{
			Script: l.cfg.Scripts.Done,
			Keys: []string{
				task, k.Active, k.Lease, k.Idempotency, processed, k.Processed, k.Running, k.Parked, k.Scheduled, k.Pending, k.Bell, k.Completed,
			},
			Args: []any{
				c.ID, owner, counterEnds, k.Task, l.cfg.Process.Ring(0),
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
			Args: []any{c.ID, owner, now.Unix(), o.Reason, deadKept, k.Task, counterEnds, l.cfg.Process.Ring(0), int64(l.now())},
		}
	}
	ring, aside, place := l.cfg.Process.Ring(o.Due), k.ThrottledAt(o.App), now.UnixNano()
	switch o.Disposition {
	case Throttled:
		ring += " " + o.App // it may have capacity at another replica
	case Suspect:
		aside, place = k.SuspectsOf(o.App), o.Place
	}
	return luascript.Call{
		Script: l.cfg.Scripts.Requeue,
		Keys: []string{
			task, k.Active, k.Lease, k.Pending, k.Retry, k.WaitingForApp, k.Registrations, k.Bell,
			k.Running, k.Parked, k.Scheduled, k.Delayed, aside,
		},
		Args: []any{
			c.ID, owner, DueScore(o.Due), string(o.Disposition), o.Reason, c.registrationsSeen, place, ring, k.Task, o.Unseen,
			o.worksOn(c), o.Hold.Milliseconds(),
		},
	}
}
