package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

const (
	// upkeepInterval is how often a queue is swept when nothing is due: a third of a lease.
	upkeepInterval = 4 * time.Second
	// upkeepPause keeps many short delays from becoming many sweeps.
	upkeepPause = 10 * time.Millisecond
	// sweepAtOnce bounds what one call of the script moves, so that Redis is not held up.
	sweepAtOnce = 500
)

// upkeep sweeps the queue every few seconds, and whenever a message is due, until ctx ends.
func (l *lane) upkeep(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := l.sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.q.outage.failed(err)
			sleep(ctx, l.q.outage.pause())
			continue
		}
		l.q.outage.ended()
		if more {
			continue
		}
		l.rest(ctx)
	}
}

// rest sleeps until the next sweep.
func (l *lane) rest(ctx context.Context) {
	if !sleep(ctx, upkeepPause) {
		return
	}
	end := time.Now().Add(upkeepInterval)
	for {
		timer := time.NewTimer(l.due.wait(time.Until(end)))
		select {
		case <-timer.C:
			return
		case <-l.due.changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// sweep runs the script once; more says that it had more to do than one call may.
func (l *lane) sweep(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	k, q := &l.keys, l.q
	now := q.nowMillis()
	returnLapsed := "1"
	if q.outage.recent(leaseTime) {
		returnLapsed = "0"
	}
	args := []any{
		k.task, score(now), score(now + world.Millis(leaseTime.Milliseconds())), returnLapsed,
		sweepAtOnce, q.cfg.Clock.Now().UnixNano(), q.ringing(0),
	}
	held := l.held()
	for id, c := range held {
		args = append(args, id, c.owner)
	}
	reply, err := q.scripts.sweep.Run(ctx, q.redis, []string{k.pending, k.active, k.lease, k.scheduled, k.retry, k.bell, k.running, k.parked}, args...)
	if err != nil {
		return false, err
	}
	return l.swept(reply, now, held)
}

// held are the claims whose leases to renew.
func (l *lane) held() map[string]*claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := make(map[string]*claim, len(l.claims))
	for c := range l.claims {
		held[c.id] = c
	}
	return held
}

func (l *lane) swept(reply []any, asked world.Millis, held map[string]*claim) (more bool, err error) {
	const fixed = 4
	if len(reply) < fixed {
		return false, luascript.ErrShortReply
	}
	var numbers [2]int64
	for i := range numbers {
		if numbers[i], err = luascript.Int(reply[i]); err != nil {
			return false, err
		}
	}
	pending, moved := numbers[0], numbers[1]
	next := world.Millis(0)
	if text, err := replyText(reply[2]); err != nil {
		return false, err
	} else if text != "" {
		if next, err = parseScore(text); err != nil {
			return false, err
		}
	}
	returned, err := luascript.Int(reply[3])
	if err != nil {
		return false, err
	}
	for i, v := range reply[fixed:] {
		id, err := replyText(v)
		if err != nil {
			return false, err
		}
		if int64(i) < returned {
			l.q.cfg.Observer.Recovered(l.kind)
			l.log.Warn("a worker has gone; its message is delivered again", slog.String("message", id))
		} else if c := held[id]; c != nil {
			// Unless it has just finished, somebody else delivers it by now.
			c.cancel(errLeaseLost)
		}
	}
	l.due.set(asked, next)
	if pending > 0 {
		l.bell.ring()
	}
	return moved >= sweepAtOnce || returned >= sweepAtOnce, nil
}
