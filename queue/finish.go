package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

// What a queue keeps of messages that have ended, for people to look at.
const (
	deadKept      = 1000
	completedKept = 100
	// completedSize bounds a message that is kept when it is done, as it lies in Redis: larger
	// ones go at once.
	completedSize = 64 << 10
	// completedFor is how long asynq's janitor leaves those that are done.
	completedFor = 7 * 24 * time.Hour
)

// disposition is what becomes of a message; the texts are those of requeue.lua and of the metrics.
type disposition string

const (
	dispositionDone          disposition = "done"
	dispositionDead          disposition = "dead"
	dispositionFailed        disposition = "failed"
	dispositionRescheduled   disposition = "moved"
	dispositionWaitingForApp disposition = "stalled"
	dispositionThrottled     disposition = "crowded"
	dispositionReleased      disposition = "returned"
	dispositionSuspect       disposition = "apart"
	// dispositionLost: the message is somebody else's by now; there is nothing to write.
	dispositionLost disposition = "lost"
)

// outcome is a disposition with its details.
type outcome struct {
	disposition disposition
	due         world.Millis // 0: now
	reason      string
	unseen      bool          // it is certain that the app has seen nothing of the message
	app         string        // that has perhaps begun it and goes on, or is too busy for it
	hold        time.Duration // how long the next delivery waits for that app to notice the end of this one
	room        int           // with crowded: how many places the app has
	place       int64         // with apart: among the suspects of the app
}

// goesOn is the app that perhaps works on a message after this outcome: none after an answer,
// and the same as before if this delivery was not seen.
func (o outcome) goesOn(c *claim) string {
	switch {
	case o.disposition == dispositionFailed || o.disposition == dispositionRescheduled:
		return ""
	case o.unseen || o.app == "":
		return c.app
	default:
		return o.app
	}
}

// finish writes an outcome to Redis and then lets go of the message. While Redis is away
// it tries again, so that a delivery that was made is not made once more; past the grace
// period it gives up, and the lease lapses.
func (l *lane) finish(c *claim, o outcome) {
	defer l.drop(c)
	if o.disposition == dispositionLost {
		return
	}
	for {
		ctx, cancel := context.WithTimeout(l.q.lasting, redisTimeout)
		ours, err := l.write(ctx, c, o)
		cancel()
		if err == nil {
			l.q.outage.ended()
			switch {
			case ours:
			case c.sent.Load() > 1: // perhaps it is written, and the answer was lost: then this process has not heard of what is to be taken
				l.log.Debug("the outcome of a delivery was written before, or its lease had lapsed", slog.String("message", c.id))
				l.heard(o.due)
			default:
				l.log.Warn("the answer of a delivery came when its lease had lapsed, and changes nothing",
					slog.String("message", c.id), slog.String("outcome", string(o.disposition)))
			}
			return
		}
		l.q.outage.failed(err)
		l.log.Debug("the outcome of a delivery waits for Redis", slog.String("message", c.id), slog.Any("error", err))
		if !pause.For(l.q.lasting, l.q.outage.pause()) {
			l.log.Error("the outcome of a delivery could not be stored; it will be made again",
				slog.String("message", c.id), slog.String("outcome", string(o.disposition)), slog.Any("error", err))
			return
		}
	}
}

func (l *lane) write(ctx context.Context, c *claim, o outcome) (ours bool, err error) {
	k, q := &l.keys, l.q
	task, owner := k.task+c.id, countedArg{c.owner, &c.sent}
	processed, expireAt := asynqbridge.Day(k.processed, q.cfg.Clock.Now())
	var script *luascript.Script
	var keys []string
	var args []any
	switch o.disposition {
	case dispositionDone:
		script = q.scripts.done
		keys = []string{task, k.active, k.lease, k.idempotency, processed, k.processed, k.running, k.parked, k.scheduled, k.pending, k.bell, k.completed}
		args = []any{
			c.id, owner, expireAt, k.task, q.ringing(0),
			int64(q.nowMillis()), q.cfg.Clock.Now().Add(completedFor).Unix(), completedKept, completedSize,
		}
	case dispositionDead:
		failed, _ := asynqbridge.Day(k.failed, q.cfg.Clock.Now())
		script = q.scripts.dead
		keys = []string{
			task, k.active, k.lease, k.archived, k.idempotency, processed, k.processed, failed, k.failed,
			k.running, k.parked, k.scheduled, k.pending, k.bell,
		}
		args = []any{c.id, owner, q.cfg.Clock.Now().Unix(), o.reason, deadKept, k.task, expireAt, q.ringing(0), int64(q.nowMillis())}
	default:
		rings := q.ringing(o.due)
		if o.disposition == dispositionThrottled {
			rings += " " + o.app // it may have room at another replica
		}
		script = q.scripts.requeue
		keys = []string{
			task, k.active, k.lease, k.pending, k.retry, k.waitingForApp, k.wakes, k.bell,
			k.running, k.parked, k.scheduled, k.delayed, l.throttledKey(o.app),
		}
		since := q.cfg.Clock.Now().UnixNano()
		if o.disposition == dispositionSuspect {
			keys[len(keys)-1], since = l.suspectsKey(o.app), o.place
		}
		args = []any{
			c.id, owner, dueScore(o.due), string(o.disposition), o.reason, c.wakes, since, rings, k.task, o.unseen,
			o.goesOn(c), o.hold.Milliseconds(),
		}
	}
	reply, err := q.send.Run(ctx, script, keys, args...)
	if err != nil {
		return false, err
	}
	code, err := replyCode(reply)
	if err != nil {
		return false, err
	}
	if code != 1 {
		return false, nil
	}
	if len(reply) > 1 && reply[1] == int64(1) {
		l.bell.ring()
	}
	if o.due != 0 {
		l.due.note(o.due)
	}
	return true, nil
}

// dueIn returns the moment after a delay, rounded up to a millisecond; 0 is now.
func (q *Queue) dueIn(d time.Duration) world.Millis {
	if d <= 0 {
		return 0
	}
	return world.MillisOf(q.cfg.Clock.Now().Add(min(d, maxDelay) + time.Millisecond - 1))
}
