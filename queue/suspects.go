package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/lane"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// The flow messages that are in an app's hands when its process ends for the third time in a row
// are suspects. An app gets one suspect at a time, from all replicas together, beside everything
// else. A crash with a suspect in the app's hands counts against it; a suspect whose delivery is
// answered is none any more. Steps are no suspects: the SDK counts how often one was begun.
//
// The SDK also fails a step that was begun four times. So that the crashes that sort the suspects out do not
// use up the attempts of others, a suspect waits until those deliveries have been answered that a crash
// interrupted, in either queue: each of them meets one more crash at most.
//
// A suspect may go on for long, an SDK v5 flow for as long as its steps. Until the one is found that ends the
// process, the next one waits. Once a crash has counted against one, the others are probably innocent: they
// follow one another at short intervals, and that one goes last.

// suspectTimes say how long what lasts; tests make them short.
type suspectTimes struct {
	after    int           // crashes in a row after which a message is a suspect
	patience time.Duration // how long interrupted deliveries are waited for
	look     time.Duration // how often one that waits for them looks
	alone    time.Duration // how long a suspect is alone in the app's hands
	brief    time.Duration // the same once the one that ends the process is found
	found    time.Duration // how long that one explains crashes
}

var usualSuspectTimes = suspectTimes{
	after: 3, patience: 5 * time.Minute, look: time.Second, alone: 2 * time.Minute, brief: 5 * time.Second, found: 10 * time.Minute,
}

const (
	// suspectKept is when the keys of an app's suspects end, after the last crash or delivery.
	suspectKept = 15 * time.Minute
	// suspectTime is when a suspect that was set aside is looked at again, should nobody have
	// brought it forward.
	suspectTime = 15 * time.Second
)

// The answers of suspect.lua.
const (
	suspectLost = iota
	suspectGo
	suspectTaken
	suspectLater
	suspectInterrupted
)

// mayGo sees to it that an app has one suspect in its hands at a time. If the message has to wait,
// o is what becomes of it.
func (w *worker) mayGo(d *delivery, app string) (o lane.Outcome, stop bool) {
	if d.trouble.follow != nil {
		d.trouble.follow.Stop() // another app of the deployment was tried before
	}
	err := w.readTrouble(d)
	if err == nil && d.trouble.crashes == 0 {
		return lane.Outcome{}, false
	}
	var verdict int64
	if err == nil {
		verdict, err = w.askTurn(d, app)
	}
	o = lane.Outcome{Disposition: lane.Suspect, App: app, Due: w.q.dueIn(suspectTime), Place: d.trouble.place(), Unseen: true}
	switch {
	case err != nil:
		return lane.Outcome{Disposition: lane.Released, Due: w.q.dueIn(redisHiccup), Reason: err.Error(), Unseen: true}, true
	case verdict == suspectGo:
		return o, false
	case verdict == suspectLost:
		return lane.Outcome{Disposition: lane.Lost}, true
	case verdict == suspectInterrupted:
		o.Due = w.q.dueIn(w.q.suspectTimes.look)
		o.Reason = "it may be what ends the app's process, and waits until other deliveries that this interrupted have ended"
	default:
		o.Reason = "it may be what ends the app's process, and waits for its turn: such messages are delivered one at a time"
		if verdict == suspectLater {
			d.trouble.app = app
		}
	}
	return o, true
}

// place is where a suspect stands among those set aside: those that a crash has counted against go
// last, and of the others those first whose deliveries ended soonest on average. What was at work before the
// one that ends the process came is behind it.
func (t trouble) place() int64 {
	const longer = int64(24 * time.Hour / time.Millisecond)
	return int64(t.counted)*longer + min(t.lasted.Milliseconds()/int64(max(t.crashes, 1)), longer-1)
}

func (w *worker) askTurn(d *delivery, app string) (verdict int64, err error) {
	ctx, cancel := context.WithTimeout(d.Context(), lane.RedisTimeout)
	defer cancel()
	times, noSuspects, others := &w.q.suspectTimes, 1, 0
	if w.Kind == world.KindFlow {
		noSuspects = 0
		if d.trouble.crashes >= times.after {
			if others, err = w.q.steps.countInterrupted(ctx, app); err != nil {
				return 0, err
			}
		}
	}
	reply, err := w.q.scripts.Suspect.Run(ctx, w.q.redis,
		[]string{w.Keys.Task + d.ID, w.interruptedKey(app), w.suspectKey(app), w.Keys.SuspectsOf(app), w.interruptedKey(d.App)},
		d.ID, d.Owner, w.Keys.Task, d.trouble.place(), min(others, 1), times.after, times.patience.Seconds(),
		times.alone.Milliseconds(), times.brief.Milliseconds(), times.found.Seconds(), suspectKept.Seconds(), noSuspects)
	if err != nil {
		return 0, err
	}
	var n [3]int64
	if len(reply) != len(n) {
		return 0, luascript.ErrShortReply
	}
	for i := range n {
		if n[i], err = luascript.Int(reply[i]); err != nil {
			return 0, err
		}
	}
	if n[1] > 0 {
		w.log.Warn("the app's process ended again and again during deliveries; the messages of flows that it had then are delivered one at a time until the one that ends it is found; "+
			"all else goes on; see why the process ends", slog.String("app", app), slog.Int64("messages", n[1]), slog.Int("crashes", d.trouble.crashes))
	}
	if n[0] == suspectGo && n[2] > 0 {
		d.trouble.app = app
		d.trouble.follow = time.AfterFunc(time.Duration(n[2])*time.Millisecond, func() { w.nextSuspect(app) })
	}
	return n[0], nil
}

// countInterrupted is how many messages of this queue have no answer since the app's process ended with them. A
// step that has met more crashes than make a suspect has no attempt left, or more than usual: nobody waits for it.
func (w *worker) countInterrupted(ctx context.Context, app string) (int, error) {
	reply, err := w.q.scripts.Interrupted.Run(ctx, w.q.redis, []string{w.interruptedKey(app)}, w.Keys.Task, w.q.suspectTimes.patience.Seconds(),
		w.q.suspectTimes.after+1)
	if err != nil {
		return 0, err
	}
	n, err := script.Code(reply)
	return int(n), err
}

// answered hears that an app has answered a delivery: the message is no suspect any more.
func (w *worker) answered(d *delivery, app string) {
	if d.trouble.crashes > 0 {
		w.cleared(d, app)
	}
}

// cleared forgets the crashes of a message. Should it fail they are forgotten when the message is done.
func (w *worker) cleared(d *delivery, app string) {
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	reply, err := w.q.scripts.Cleared.Run(ctx, w.q.redis, []string{w.Keys.Task + d.ID, w.interruptedKey(app), w.suspectKey(app)},
		d.ID, d.Owner, w.Keys.Task, w.q.suspectTimes.after)
	switch {
	case err != nil:
		w.log.Debug("the crashes of a message are not forgotten yet", slog.String("message", d.ID), slog.Any("error", err))
	case len(reply) > 1 && reply[1] == int64(1):
		w.log.Info("no message is suspected of ending the app's process any more", slog.String("app", app))
	}
}

// letFollow ends the turn of a suspect once its outcome is written, and begins the next one's.
func (w *worker) letFollow(d *delivery) {
	if d.trouble.follow != nil {
		d.trouble.follow.Stop()
	}
	if d.trouble.app != "" {
		w.nextSuspect(d.trouble.app)
	}
}

// nextSuspect brings the suspect forward that goes first.
func (w *worker) nextSuspect(app string) {
	if _, err := w.forwardFrom(w.Keys.SuspectsOf(app), 1); err != nil {
		w.log.Debug("a suspect comes back in its own time", slog.Any("error", err))
	}
}
