package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/apps"
)

// redisHiccup is the wait after the list of apps could not be read.
const redisHiccup = 200 * time.Millisecond

// cutHold is how long an app that a delivery was begun with may take to notice that we cut
// it, before it gets the message again.
const cutHold = 500 * time.Millisecond

// handle is what asynq calls for a message: it makes one delivery and writes what becomes of the
// message before it returns, so asynq has nothing left to write.
func (l *lane) handle(id string, m world.Message, unreadable error) {
	l.work.Add(1)
	defer l.work.Done()
	c := l.received(id)
	if c == nil {
		return // not a message that we took
	}
	l.q.cfg.Observer.Waited(l.kind, l.q.cfg.Clock.Now().Sub(c.since))
	begin := time.Now()
	o, reached := l.deliver(c, m, unreadable)
	l.q.cfg.Observer.Ended(l.kind, string(o.step), time.Since(begin))
	l.letRest(c)
	l.finish(c, o)
	l.letFollow(c)
	l.leave(c)
	if o.step == stepCrowded && l.crowd.setAside(o.app, o.room) {
		l.bringForward(o.app)
	}
	if reached != "" && l.q.health.Reached(reached) {
		if err := l.q.wake(l.q.delivering); err != nil {
			l.log.Debug("waiting messages come back in their own time", slog.Any("error", err))
		}
	}
}

// deliver makes one delivery. reached is the address of the app when it answered.
func (l *lane) deliver(c *claim, m world.Message, unreadable error) (o outcome, reached string) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("a delivery panicked", slog.String("message", c.id), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			o = l.failed(c, world.Message{}, world.Outcome{Reason: fmt.Sprintf("the delivery panicked: %v", p)})
		}
	}()
	if unreadable != nil {
		return l.dead(c, m, Undeliverable, unreadable.Error()), ""
	}
	if world.IsHealthCheck(m.QueueName) {
		return l.deliverHealthCheck(c, m)
	}
	return l.deliverMessage(c, m)
}

// deliverMessage delivers to one of the apps that may have the message.
func (l *lane) deliverMessage(c *claim, m world.Message) (o outcome, reached string) {
	d, err := l.q.apps.Choose(c.ctx, m, c.app)
	if err != nil {
		return outcome{step: stepReturned, due: l.q.dueIn(redisHiccup), reason: err.Error(), unseen: true}, ""
	}
	candidates := d.Apps
	if len(candidates) > 0 {
		l.q.health.Present(l.kind, m)
	} else if candidates, o = l.homeless(c, m, d.Lapsed); len(candidates) == 0 {
		return o, ""
	}
	return l.tryApps(c, m, candidates, l.crowdLimit(d.Several))
}

// tryApps delivers to the first of the apps that can be reached; if that has no room the message
// waits for it.
func (l *lane) tryApps(c *claim, m world.Message, candidates []world.App, most int) (o outcome, reached string) {
	o = outcome{step: stepStalled, due: l.q.dueIn(l.q.cfg.Backoff.UnreachableMax), unseen: true}
	for i, app := range candidates {
		if wait := l.q.health.Wait(app.BaseURL); wait > 0 {
			if due := l.q.dueIn(wait); i == 0 || due < o.due {
				o.due, o.reason = due, l.q.health.WhyDown(app.BaseURL)
			}
			continue
		}
		if o, stop := l.mayGo(c, app.BaseURL); stop {
			return o, ""
		}
		if !l.crowd.enter(c.ctx, app.BaseURL, most) {
			reason := fmt.Sprintf("the app at %s has as many deliveries in work as one replica gives it (%d)", withoutCredentials(app.BaseURL), most)
			return outcome{step: stepCrowded, due: l.q.dueIn(crowdTime), app: app.BaseURL, room: most, unseen: true, reason: reason}, ""
		}
		l.entered(c, app.BaseURL)
		if o, stop := l.mayBegin(c, app.BaseURL, len(candidates) > 1); stop {
			return o, ""
		}
		stop := l.watch(c, app, m)
		begin := time.Now()
		out := l.send(c, app, m)
		stop()
		answered := out.Verdict == world.Done || out.Verdict == world.Reschedule
		if answered && app.SDK == apps.SDKv4 && l.kind == world.KindFlow && m.StepID == "" {
			c.replayed, c.took = m.RunID, time.Since(begin)
		}
		if out.Verdict != world.Unreachable {
			l.answered(c, app.BaseURL)
		}
		o, reached = l.judge(c, app.BaseURL, m, out, time.Since(begin))
		if o.step != stepStalled || !o.unseen || i == len(candidates)-1 {
			return o, reached
		}
		l.leave(c)
	}
	return o, reached
}

// mayBegin waits until an earlier delivery, if that was cut, is over in the app, and makes
// sure that the message is still ours.
func (l *lane) mayBegin(c *claim, app string, several bool) (o outcome, stop bool) {
	o = outcome{step: stepReturned, unseen: true}
	if left := c.holdLeft(); left > 0 && !pause.For(c.ctx, left) {
		o.hold = c.holdLeft()
		return o, true
	}
	ours, err := l.begin(c, app, several)
	switch {
	case err != nil:
		o.due, o.reason = l.q.dueIn(redisHiccup), err.Error()
		return o, true
	case !ours:
		l.log.Info("a message was lost to another replica before its delivery began", slog.String("message", c.id))
		return outcome{step: stepLost}, true
	}
	return o, false
}

// leave gives back the place that a delivery had at its app.
func (l *lane) leave(c *claim) {
	app := l.entered(c, "")
	if app != "" && l.crowd.leave(app) {
		l.bringForward(app)
	}
}

// entered notes the place that a delivery has at an app, and returns the one that it had.
func (l *lane) entered(c *claim, app string) (before string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, c.entered = c.entered, app
	return before
}

// send tries a few times when not a byte of the request has reached the app.
func (l *lane) send(c *claim, app world.App, m world.Message) world.Outcome {
	d := world.Delivery{
		MessageID: c.id, Attempt: c.attempt(), BaseURL: app.BaseURL, Kind: l.kind, Attach: l.mayAttach(app, m), Message: m,
	}
	if d.Attach && time.Since(c.alongAt) < alongFresh {
		d.Along = c.along
	}
	for try := 0; ; try++ {
		out := l.q.cfg.Deliverer.Deliver(c.ctx, d)
		d.Along = nil // out of date by now
		quick := l.q.cfg.Backoff.Quick
		if out.Verdict != world.Unreachable || out.Sent || out.NoApp || try >= len(quick) || !pause.For(c.ctx, quick[try]) {
			return out
		}
	}
}

func (l *lane) judge(c *claim, baseURL string, m world.Message, out world.Outcome, lasted time.Duration) (o outcome, reached string) {
	l.log.Debug("delivered", slog.String("message", c.id), slog.String("run", m.RunID), slog.Int("attempt", c.attempt()),
		slog.Int("verdict", int(out.Verdict)), slog.Int("status", out.Status), slog.Duration("delay", out.Delay))
	switch {
	case out.Verdict == world.Done:
		l.q.health.Accepted(l.kind, baseURL, c.id)
		l.lookedAt(c, m, out)
		return outcome{step: stepDone}, baseURL
	case out.Verdict == world.Reschedule:
		l.q.health.Accepted(l.kind, baseURL, c.id)
		return outcome{step: stepMoved, due: l.q.dueIn(l.patience(c, m, out.Delay))}, baseURL
	case out.Verdict == world.TooLarge:
		l.q.health.Accepted(l.kind, baseURL, c.id)
		return l.tooLarge(c, m, out), baseURL
	case c.ctx.Err() != nil: // cut by ourselves
		if errors.Is(context.Cause(c.ctx), errShutdown) {
			l.log.Warn("a delivery was cut at shutdown; another one will be made",
				slog.String("message", c.id), slog.String("run", m.RunID), slog.String("step", m.StepID))
		}
		o = outcome{step: stepReturned, reason: context.Cause(c.ctx).Error(), app: baseURL, hold: cutHold}
		if out.Verdict == world.Unreachable && !out.Sent {
			o.unseen, o.hold = true, 0
		}
		return o, ""
	case out.Verdict == world.Failed && l.isStray(c, m, out):
		return outcome{step: stepDone}, baseURL
	case out.Verdict == world.Failed:
		l.q.health.Refused(l.kind, baseURL, c.id, out)
		return l.failed(c, m, out), baseURL
	case out.NoApp:
		wait := l.q.health.Wrong(baseURL, out.Reason)
		return outcome{step: stepStalled, due: l.q.dueIn(wait), reason: out.Reason, unseen: true}, ""
	case out.Between:
		return l.answeredBetween(c, baseURL, out), ""
	case out.Sent:
		return l.broke(c, baseURL, m, out, lasted), ""
	default:
		wait := l.q.health.Unreachable(baseURL, out.Reason)
		return outcome{step: stepStalled, due: l.q.dueIn(wait), reason: out.Reason, unseen: true}, ""
	}
}

// A message that its app puts off again and again, without any wait, would keep both of
// them busy for ever: after so many times it waits a little, and the log says so.
const (
	manyMoves = 1000
	movesWait = time.Second
)

func (l *lane) patience(c *claim, m world.Message, asked time.Duration) time.Duration {
	moves := c.moved + 1
	if moves < manyMoves {
		return asked
	}
	if moves%manyMoves == 0 {
		l.log.Warn("the app puts a message off over and over", slog.String("message", c.id), slog.String("run", m.RunID),
			slog.String("step", m.StepID), slog.Int("times", moves))
	}
	return max(asked, movesWait)
}

// failed charges a delivery, and sets the message aside when it was one too many.
func (l *lane) failed(c *claim, m world.Message, out world.Outcome) outcome {
	n := c.failed + 1
	if n >= l.q.cfg.Backoff.DeadAfter {
		return l.dead(c, m, Undeliverable, out.Reason)
	}
	return outcome{step: stepFailed, due: l.q.dueIn(l.q.cfg.Backoff.Failed(n, out.Delay)), reason: out.Reason}
}

// Death is why a message is set aside as dead.
type Death string

// The deaths.
const (
	Undeliverable Death = "undeliverable" // the app refused it too often, or it cannot be read
	NoApp         Death = "no app"        // none of its deployment is alive, and the policy is Fail
	TooLarge      Death = "too large"     // its run has a value that the service does not take
	Fatal         Death = "fatal"         // the app's process ends at each delivery of it
)

// runDeadTimeout bounds what the run of a dead message is given to be failed.
const runDeadTimeout = 10 * time.Second

// dead sets a message aside, after its run has been told.
func (l *lane) dead(c *claim, m world.Message, why Death, reason string) outcome {
	if world.IsHealthCheck(m.QueueName) {
		return l.dropHealthCheck(c, reason)
	}
	if o, ok := l.tellRun(c, m, why, reason); !ok {
		return o
	}
	defer l.runEnded(m)
	l.q.health.SetAside(c.id)
	l.log.Error("a message is set aside as undeliverable", slog.String("message", c.id), slog.String("run", m.RunID),
		slog.String("step", m.StepID), slog.Int("failed", c.failed+1), slog.String("reason", reason))
	return outcome{step: stepDead, reason: reason}
}

// tooLarge ends a run that cannot go on. Its message is done with that: redriving it would
// come to the same.
func (l *lane) tooLarge(c *claim, m world.Message, out world.Outcome) outcome {
	if l.q.cfg.RunDead == nil || m.RunID == "" {
		return l.failed(c, m, out)
	}
	if o, ok := l.tellRun(c, m, TooLarge, out.Reason); !ok {
		return o
	}
	defer l.runEnded(m)
	l.log.Error("a run was failed, because it has a value that is too large", slog.String("message", c.id), slog.String("run", m.RunID),
		slog.String("step", m.StepID), slog.String("reason", out.Reason))
	return outcome{step: stepDone}
}

// tellRun has the run of a message failed. If that cannot be done now, o is what becomes of
// the message until it can.
func (l *lane) tellRun(c *claim, m world.Message, why Death, reason string) (o outcome, ok bool) {
	if l.q.cfg.RunDead == nil || m.RunID == "" {
		return outcome{}, true
	}
	ctx, cancel := context.WithTimeout(l.q.lasting, runDeadTimeout)
	defer cancel()
	if err := l.q.cfg.RunDead(ctx, m, why, reason); err != nil {
		l.log.Warn("a message cannot be delivered, and its run could not be told; it is tried again",
			slog.String("message", c.id), slog.String("run", m.RunID), slog.String("reason", reason), slog.Any("error", err))
		return outcome{step: stepFailed, due: l.q.dueIn(l.q.cfg.Backoff.Failed(c.failed+1, 0)), reason: reason}, false
	}
	return outcome{}, true
}

func (l *lane) runEnded(m world.Message) {
	if l.q.cfg.RunDead != nil && m.RunID != "" {
		l.q.ForgetRun(m.RunID)
	}
}

// withoutCredentials is an address for people; that of WORKFLOW_BASE_URL may have a user name and a password.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User = nil
	return u.String()
}
