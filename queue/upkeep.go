package queue

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/pause"
)

const (
	// upkeepInterval is how often a queue is swept when nothing is due: a third of a lease.
	upkeepInterval = 4 * time.Second
	// relievedInterval is how often that is done while another process does it and this one has no work.
	relievedInterval = time.Minute
	// upkeepPause keeps many short delays from becoming many sweeps.
	upkeepPause = 10 * time.Millisecond
	// sweepAtOnce is how many active messages one call of the script looks at, so that Redis is not held up.
	sweepAtOnce = 500
	// renewAtOnce is how many leases one call renews.
	renewAtOnce = 250
)

// upkeep sweeps the queue every few seconds, and whenever a message is due, until ctx ends.
func (l *lane) upkeep(ctx context.Context) {
	var swept time.Time
	for ctx.Err() == nil {
		if l.isRelieved(swept) {
			l.awaitNextSweep(ctx)
			continue
		}
		swept = time.Now()
		more, err := l.sweepAll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.q.outage.failed(err)
			swept = time.Time{} // nobody else hears that this outage is over
			pause.For(ctx, l.q.outage.pause())
			continue
		}
		l.q.outage.ended()
		if l.lost.exist() {
			l.undoLost()
		}
		switch {
		case more:
			pause.For(ctx, upkeepPause)
		case l.backlog.exists():
			l.backlog.awaitRoom(ctx)
		default:
			l.awaitNextSweep(ctx)
		}
	}
}

// isRelieved reports whether a sweep can be left to another process: there is one, and this one holds no lease and has heard of
// nothing that is due.
func (l *lane) isRelieved(swept time.Time) bool {
	if time.Since(swept) >= relievedInterval || l.lost.exist() || !l.q.cfg.Relieved() || l.due.wait(time.Nanosecond) == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.claims) == 0
}

// awaitNextSweep sleeps until the next sweep.
func (l *lane) awaitNextSweep(ctx context.Context) {
	if !pause.For(ctx, upkeepPause) {
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

// sweepAll runs the script, several times if there are many leases; more says that it should be run again soon.
func (l *lane) sweepAll(ctx context.Context) (more bool, err error) {
	held := l.held()
	for len(held) > renewAtOnce {
		part := make(map[string]*claim, renewAtOnce)
		for id, c := range held {
			if len(part) == renewAtOnce {
				break
			}
			part[id] = c
			delete(held, id)
		}
		if _, err := l.sweepPart(ctx, part, false); err != nil {
			return false, err
		}
	}
	return l.sweepPart(ctx, held, true)
}

// sweepPart runs the script once. Unless it is whole, leases are all that is seen to.
func (l *lane) sweepPart(ctx context.Context, held map[string]*claim, whole bool) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	k, q := &l.keys, l.q
	now, asked := q.nowMillis(), time.Now()
	recoverLapsed, high, share := "1", l.backlog.high, int64(0)
	if whole {
		share = l.backlog.share()
	} else {
		high = 0
	}
	if !whole || q.outage.recent(leaseTime) {
		recoverLapsed = "0"
	}
	args := []any{
		k.task, score(now), leaseTime.Seconds(), recoverLapsed,
		sweepAtOnce, q.cfg.Clock.Now().UnixNano(), q.ringing(0), high, share, l.lookFrom, l.clock.after(redisTimeout),
	}
	l.due.ask()
	for id, c := range held {
		args = append(args, id, c.owner, l.targetOf(c))
	}
	reply, err := q.scripts.sweep.Run(ctx, q.redis, []string{k.pending, k.active, k.lease, k.scheduled, k.retry, k.bell, k.running, k.parked}, args...)
	if err != nil {
		return false, err
	}
	return l.swept(reply, now, asked, held, whole)
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

func (l *lane) swept(reply []any, now world.Millis, asked time.Time, held map[string]*claim, whole bool) (more bool, err error) {
	const fixed = 6
	if len(reply) < fixed {
		return false, luascript.ErrShortReply
	}
	pending, errPending := luascript.Int(reply[0])
	text, errText := replyText(reply[1])
	looked, errLooked := luascript.Int(reply[2])
	recovered, errRecovered := luascript.Int(reply[3])
	clock, errClock := replyText(reply[4])
	shown, errShown := strconv.ParseFloat(clock, 64)
	left, errLeft := luascript.Int(reply[5])
	if err := errors.Join(errPending, errText, errLooked, errRecovered, errClock, errShown, errLeft); err != nil {
		return false, err
	}
	next := world.Millis(0)
	if text != "" {
		var err error
		if next, err = parseScore(text); err != nil {
			return false, err
		}
	}
	switch {
	case !whole:
	case looked < sweepAtOnce && left == 0:
		l.lookFrom = 0
	default:
		l.lookFrom += int(looked)
	}
	for i, v := range reply[fixed:] {
		id, err := replyText(v)
		if err != nil {
			return false, err
		}
		c := held[id]
		if int64(i) < recovered {
			l.q.cfg.Observer.Recovered(l.kind)
			l.log.Warn("nobody held the lease of a message any more, its worker has gone; it is delivered again", slog.String("message", id))
		}
		if c != nil {
			// Unless it has just finished, somebody else delivers it by now.
			c.cancel(errLeaseLost)
			delete(held, id)
		}
	}
	l.clock.learn(asked, shown)
	l.renewed(held, asked)
	l.due.set(next)
	l.backlog.set(next != 0 && next <= now)
	if pending > 0 {
		l.bell.ring()
	}
	return left == 1, nil
}
