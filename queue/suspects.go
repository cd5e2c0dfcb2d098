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

// When an app's process ends for the third time in a row, the flow messages that it is processing
// become suspects. An app gets one suspect at a time, from all replicas together, in addition to all
// other messages. A crash while the app has a suspect counts against that suspect. A suspect whose delivery is
// answered is cleared. Steps are never suspects, because the SDK counts how often a step was begun.
//
// The SDK also fails a step that was begun four times. The crashes that find the cause must not
// use up the attempts of other messages. So a suspect waits until the deliveries that a crash has
// interrupted, in either queue, are answered: each of them sees one more crash at most.
//
// A suspect may run for long: an SDK v5 flow for as long as its steps. Until the message is found that ends the
// process, the next suspect waits. Once a crash has counted against one, the others are probably innocent: they
// are delivered at short intervals, and that one goes last.

// suspectTimes are the waits; tests make them short.
type suspectTimes struct {
	after    int           // crashes in a row after which a message is a suspect
	patience time.Duration // how long a suspect waits for interrupted deliveries
	look     time.Duration // how often it checks them
	alone    time.Duration // how long a suspect is the only one that the app has
	brief    time.Duration // the same once the message that ends the process is found
	found    time.Duration // how long that message explains crashes
}

var usualSuspectTimes = suspectTimes{
	after: 3, patience: 5 * time.Minute, look: time.Second, alone: 2 * time.Minute, brief: 5 * time.Second, found: 10 * time.Minute,
}

const (
	// suspectKept is how long the keys of an app's suspects are kept after the last crash or delivery.
	suspectKept = 15 * time.Minute
	// suspectTime is when a suspect that was set aside is claimed again if nothing has
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

// mayGo makes sure that an app has one suspect at a time. If the message has to wait,
// decision is what becomes of it.
func (w *worker) mayGo(d *delivery, app string) (decision lane.Decision, stop bool) {
	if d.trouble.follow != nil {
		d.trouble.follow.Stop() // another app of the deployment was tried before
	}
	err := w.readTrouble(d)
	if err == nil && d.trouble.crashes == 0 {
		return lane.Decision{}, false
	}
	var verdict int64
	if err == nil {
		verdict, err = w.askTurn(d, app)
	}
	decision = lane.Decision{Disposition: lane.Suspect, App: app, Due: w.q.dueIn(suspectTime), Place: d.trouble.place(), Unseen: true}
	switch {
	case err != nil:
		return lane.Decision{Disposition: lane.Released, Due: w.q.dueIn(redisHiccup), Reason: err.Error(), Unseen: true}, true
	case verdict == suspectGo:
		return decision, false
	case verdict == suspectLost:
		return lane.Decision{Disposition: lane.Lost}, true
	case verdict == suspectInterrupted:
		decision.Due = w.q.dueIn(w.q.suspectTimes.look)
		decision.Reason = "it may be what ends the app's process, and waits until the deliveries that this interrupted are answered"
	default:
		decision.Reason = "it may be what ends the app's process, and waits for its turn: such messages are delivered one at a time"
		if verdict == suspectLater {
			d.trouble.app = app
		}
	}
	return decision, true
}

// place is the place of a suspect among those set aside. Those that a crash has counted against go
// last. Of the others, the one whose deliveries were shortest on average goes first: a message that was delivered before the
// one that ends the process is behind it.
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
		w.log.Warn("the app's process ended again and again during deliveries; the flow messages that it had then are delivered one at a time until the one that ends it is found; "+
			"all other messages are delivered as usual; see why the process ends", slog.String("app", app), slog.Int64("messages", n[1]), slog.Int("crashes", d.trouble.crashes))
	}
	if n[0] == suspectGo && n[2] > 0 {
		d.trouble.app = app
		d.trouble.follow = time.AfterFunc(time.Duration(n[2])*time.Millisecond, func() { w.nextSuspect(app) })
	}
	return n[0], nil
}

// countInterrupted is how many messages of this queue have no answer since the app's process ended during their delivery. A
// step that has seen more crashes than make a suspect has no attempt left, or more than usual: it is not counted.
func (w *worker) countInterrupted(ctx context.Context, app string) (int, error) {
	reply, err := w.q.scripts.Interrupted.Run(ctx, w.q.redis, []string{w.interruptedKey(app)}, w.Keys.Task, w.q.suspectTimes.patience.Seconds(),
		w.q.suspectTimes.after+1)
	if err != nil {
		return 0, err
	}
	n, err := script.Code(reply)
	return int(n), err
}

// answered is called when an app has answered a delivery. The message is no longer a suspect.
func (w *worker) answered(d *delivery, app string) {
	if d.trouble.crashes > 0 {
		w.cleared(d, app)
	}
}

// cleared forgets the crashes of a message. If it fails, they are forgotten when the message is done.
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

// letFollow ends the turn of a suspect whose outcome is written, and begins that of the next one.
func (w *worker) letFollow(d *delivery) {
	if d.trouble.follow != nil {
		d.trouble.follow.Stop()
	}
	if d.trouble.app != "" {
		w.nextSuspect(d.trouble.app)
	}
}

// nextSuspect brings the first suspect forward.
func (w *worker) nextSuspect(app string) {
	if _, err := w.forwardFrom(w.Keys.SuspectsOf(app), 1); err != nil {
		w.log.Debug("a suspect is delivered when it is due", slog.Any("error", err))
	}
}
