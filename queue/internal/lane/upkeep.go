package lane

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/script"
)

const (
	// upkeepInterval is how often a queue is swept when nothing is due: a third of a lease.
	upkeepInterval = 4 * time.Second
	// relievedInterval is how often it is swept while another process does it for all and this one has no work.
	relievedInterval = time.Minute
	// upkeepPause is the pause between two sweeps when many messages have short delays.
	upkeepPause = 10 * time.Millisecond
	// sweepAtOnce is how many active messages one call of the script looks at, so that it does not block Redis.
	sweepAtOnce = 500
	// renewAtOnce is how many leases one call renews.
	renewAtOnce = 250
)

// Upkeep sweeps the queue every few seconds, and whenever a message is due, until ctx ends.
func (l *Lane) Upkeep(ctx context.Context) {
	var swept time.Time
	for ctx.Err() == nil {
		if l.isRelieved(swept) {
			l.awaitNextSweep(ctx)
			continue
		}
		swept = time.Now()
		more, err := l.Sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.cfg.Outage.failed(err)
			swept = time.Time{} // nothing else notices that this outage is over
			pause.For(ctx, l.cfg.Outage.pause())
			continue
		}
		l.cfg.Outage.ended()
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

// isRelieved reports whether another process makes the next sweep: one sweeps for all, and this one holds no lease and knows of
// nothing that is due.
func (l *Lane) isRelieved(swept time.Time) bool {
	if time.Since(swept) >= relievedInterval || l.lost.exist() || !l.cfg.Relieved() || l.due.wait(time.Nanosecond) == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.claims) == 0
}

// awaitNextSweep sleeps until the next sweep.
func (l *Lane) awaitNextSweep(ctx context.Context) {
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

// Sweep renews the leases of this process, puts messages back whose lease has lapsed, and makes messages pending that are due. more
// reports that it should run again soon, because there are more of them than one script call moves.
func (l *Lane) Sweep(ctx context.Context) (more bool, err error) {
	held := l.held()
	for len(held) > renewAtOnce {
		part := make(map[string]*Claim, renewAtOnce)
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

// sweepPart runs the script once. Unless whole is set, it only renews leases.
func (l *Lane) sweepPart(ctx context.Context, held map[string]*Claim, whole bool) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, RedisTimeout)
	defer cancel()
	k := &l.Keys
	now, asked := l.now(), time.Now()
	recoverLapsed, high, share := "1", l.backlog.high, int64(0)
	if whole {
		share = l.backlog.share()
	} else {
		high = 0
	}
	if !whole || l.cfg.Outage.recent(leaseTime) {
		recoverLapsed = "0"
	}
	args := []any{
		k.Task, Score(now), leaseTime.Seconds(), recoverLapsed,
		sweepAtOnce, l.cfg.Clock.Now().UnixNano(), l.cfg.Process.RingText(0), high, share, l.lookFrom, l.clock.after(RedisTimeout),
	}
	l.due.ask()
	for id, c := range held {
		args = append(args, id, c.Owner, l.targetOf(c))
	}
	reply, err := l.cfg.Scripts.Sweep.Run(ctx, l.cfg.Redis, []string{k.Pending, k.Active, k.Lease, k.Scheduled, k.Retry, k.Bell, k.Running, k.Parked}, args...)
	if err != nil {
		return false, err
	}
	return l.swept(reply, now, asked, held, whole)
}

// held are the claims whose leases to renew.
func (l *Lane) held() map[string]*Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := make(map[string]*Claim, len(l.claims))
	for c := range l.claims {
		held[c.ID] = c
	}
	return held
}

func (l *Lane) swept(reply []any, now world.Millis, asked time.Time, held map[string]*Claim, whole bool) (more bool, err error) {
	const fixed = 6
	if len(reply) < fixed {
		return false, luascript.ErrShortReply
	}
	pending, errPending := luascript.Int(reply[0])
	text, errText := script.Text(reply[1])
	looked, errLooked := luascript.Int(reply[2])
	recovered, errRecovered := luascript.Int(reply[3])
	clock, errClock := script.Text(reply[4])
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
		id, err := script.Text(v)
		if err != nil {
			return false, err
		}
		c := held[id]
		if int64(i) < recovered {
			l.cfg.Recovered()
			l.log.Warn("nobody held the lease of a message any more, its worker has gone; it is delivered again", slog.String("message", id))
		}
		if c != nil {
			// Unless it has just finished, another process delivers it by now.
			c.cancel(ErrLeaseLost)
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
