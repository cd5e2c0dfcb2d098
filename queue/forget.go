package queue

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/script"
)

const (
	// endedBacklog bounds the ended runs whose messages are not removed yet. Further runs are
	// skipped: their messages do no harm, each is delivered once more and acknowledged.
	endedBacklog = 10_000
	forgetAtOnce = 32 // runs, in one call of the script
	// forgetGap is the pause between two calls, unless forgetAtOnce runs wait. Without it there would be one call
	// per queue and run where runs end all the time.
	forgetGap     = 10 * time.Millisecond
	forgetLooks   = 80 // messages, in one call of the script: up to 13 commands each, and a page of 50 may come on top
	forgetSearch  = 2000
	forgetTimeout = 5 * time.Second
	// secondLookAfter is when the messages of a run are removed once more if deliveries were running when it
	// ended: they may have enqueued messages since.
	secondLookAfter = 3 * time.Second
)

// endedRun is a run whose messages are to be removed.
type endedRun struct {
	part   string // of its keys
	second bool   // this is the second look
}

// ForgetRun is called when a run has ended. Its pending and delayed messages are removed
// soon. Messages that are being delivered stay until their delivery ends, and are not put back then. ForgetRun
// never waits, and guarantees nothing: while Redis is away nothing is removed.
func (q *Queue) ForgetRun(runID string) {
	if runID != "" {
		q.forgetLater(endedRun{part: rediskey.Part(runID)})
	}
}

func (q *Queue) forgetLater(r endedRun) {
	select {
	case q.ended <- r:
	default:
		q.cfg.Logger.Debug("too many runs end at once; the messages of one are left to be delivered", slog.String("run_id", r.part))
	}
}

// forgetRuns removes the messages of ended runs until ctx ends, and then those of the runs that still wait.
func (q *Queue) forgetRuns(ctx context.Context) {
	later := newSecondLooks(q)
	defer later.stop()
	gap := time.NewTimer(0)
	defer gap.Stop()
	for ctx.Err() == nil {
		select {
		case r := <-q.ended:
			runs := q.nextEnded(r)
			q.forget(runs, later)
			if len(runs) < forgetAtOnce {
				gap.Reset(forgetGap)
				select {
				case <-gap.C:
				case <-ctx.Done():
				}
			}
		case <-ctx.Done():
		}
	}
	later.stop()
	deadline := time.Now().Add(forgetTimeout)
	for time.Now().Before(deadline) {
		select {
		case r := <-q.ended:
			q.forget(q.nextEnded(r), nil)
		default:
			return
		}
	}
}

// nextEnded returns a run and those that wait behind it, at most as many as one call of the script may have.
func (q *Queue) nextEnded(first endedRun) []endedRun {
	runs := []endedRun{first}
	for len(runs) < forgetAtOnce {
		select {
		case r := <-q.ended:
			runs = append(runs, r)
		default:
			return runs
		}
	}
	return runs
}

func (q *Queue) forget(runs []endedRun, later *secondLooks) {
	ctx, cancel := context.WithTimeout(q.phases.Writing, forgetTimeout)
	defer cancel()
	busy := map[string]bool{}
	for _, w := range q.workers() {
		if err := w.forget(ctx, runs, busy); err != nil {
			q.cfg.Logger.Debug("messages of ended runs are left to be delivered", slog.Any("error", err))
		}
	}
	for _, r := range runs {
		if busy[r.part] && !r.second && later != nil {
			later.add(r.part)
		}
	}
}

// forget removes the messages of the runs from one queue. busy gets the runs with messages that are being
// delivered.
func (w *worker) forget(ctx context.Context, runs []endedRun, busy map[string]bool) error {
	k := &w.Keys
	cursor := "0"
	for len(runs) > 0 {
		keys := []string{k.Pending, k.Scheduled, k.Retry, k.WaitingForApp, k.Waiting, k.Parked, k.Delayed}
		for _, r := range runs {
			keys = append(keys, k.OfRun+r.part)
		}
		reply, err := w.q.scripts.Forget.Run(ctx, w.q.redis, keys, k.Task, forgetLooks, forgetSearch, cursor)
		if err != nil {
			return err
		}
		n, err := script.Code(reply)
		if err != nil {
			return err
		}
		const fixed = 2
		if n < 0 || int(n) > len(runs) || len(reply) != fixed+int(n) {
			return luascript.ErrShortReply
		}
		if cursor, err = script.Text(reply[1]); err != nil {
			return err
		}
		if n == 0 && cursor == "0" {
			return fmt.Errorf("script forget: it makes no progress")
		}
		for i, left := range reply[fixed:] {
			if left != int64(0) {
				busy[runs[i].part] = true
			}
		}
		runs = runs[n:]
	}
	return nil
}
