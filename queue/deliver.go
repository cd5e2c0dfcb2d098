package queue

import (
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
	l.q.cfg.Observer.Ended(l.kind, string(o.disposition), time.Since(begin))
	l.startCooldown(c)
	l.finish(c, o)
	l.letFollow(c)
	l.leave(c)
	if o.disposition == dispositionThrottled && l.throttle.setAside(o.app, o.room) {
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
		return outcome{disposition: dispositionReleased, due: l.q.dueIn(redisHiccup), reason: err.Error(), unseen: true}, ""
	}
	candidates := d.Apps
	if len(candidates) > 0 {
		l.q.health.Present(l.kind, m)
	} else if candidates, o = l.noApp(c, m, d.Lapsed); len(candidates) == 0 {
		return o, ""
	}
	return l.tryApps(c, m, candidates, l.throttleLimit(d.Several))
}

// tryApps delivers to the first of the apps that can be reached; if that has no room the message
// waits for it.
func (l *lane) tryApps(c *claim, m world.Message, candidates []world.App, most int) (o outcome, reached string) {
	o = outcome{disposition: dispositionWaitingForApp, due: l.q.dueIn(l.q.cfg.Backoff.UnreachableMax), unseen: true}
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
		if !l.throttle.enter(c.ctx, app.BaseURL, most) {
			reason := fmt.Sprintf("the app at %s has as many deliveries in work as one replica gives it (%d)", withoutCredentials(app.BaseURL), most)
			return outcome{disposition: dispositionThrottled, due: l.q.dueIn(throttleTime), app: app.BaseURL, room: most, unseen: true, reason: reason}, ""
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
		if o.disposition != dispositionWaitingForApp || !o.unseen || i == len(candidates)-1 {
			return o, reached
		}
		l.leave(c)
	}
	return o, reached
}

// mayBegin waits until an earlier delivery, if that was cut, is over in the app, and makes
// sure that the message is still ours.
func (l *lane) mayBegin(c *claim, app string, several bool) (o outcome, stop bool) {
	o = outcome{disposition: dispositionReleased, unseen: true}
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
		return outcome{disposition: dispositionLost}, true
	}
	return o, false
}

// leave gives back the place that a delivery had at its app.
func (l *lane) leave(c *claim) {
	app := l.entered(c, "")
	if app != "" && l.throttle.leave(app) {
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
		MessageID: c.id, Attempt: c.attempt(), BaseURL: app.BaseURL, Kind: l.kind, TakesPreload: l.takesPreload(app, m), Message: m,
	}
	if d.TakesPreload && time.Since(c.preloadedAt) < preloadFresh {
		d.Preload = c.preload
	}
	for try := 0; ; try++ {
		out := l.q.cfg.Deliverer.Deliver(c.ctx, d)
		d.Preload = nil // out of date by now
		quick := l.q.cfg.Backoff.Quick
		if out.Verdict != world.Unreachable || out.Sent || out.NoApp || try >= len(quick) || !pause.For(c.ctx, quick[try]) {
			return out
		}
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
