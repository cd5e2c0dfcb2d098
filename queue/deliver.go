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
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// redisHiccup is how long a message waits when the list of apps could not be read.
const redisHiccup = 200 * time.Millisecond

// handle makes one delivery of a claimed message and writes what becomes of the message.
func (w *worker) handle(claim *lane.Claim, m world.Message, unreadable error) {
	d := &delivery{Claim: claim}
	w.q.cfg.Observer.Waited(w.Kind, w.q.cfg.Clock.Now().Sub(d.Since))
	begin := time.Now()
	decision, reached := w.deliver(d, m, unreadable)
	w.q.cfg.Observer.Ended(w.Kind, string(decision.Disposition), time.Since(begin))
	w.startCooldown(d)
	w.Finish(d.Claim, decision)
	w.letFollow(d)
	w.leave(d)
	if decision.Disposition == lane.Throttled && w.throttle.setAside(decision.App, decision.Room) {
		w.bringForward(decision.App)
	}
	if again := reached != "" && w.q.health.Reached(reached); again || d.found {
		if err := w.q.wake(w.q.phases.Delivering); err != nil {
			w.log.Debug("waiting messages are delivered when they are due", slog.Any("error", err))
		}
	}
}

// deliver makes one delivery. reached is the address of the app if it has answered.
func (w *worker) deliver(d *delivery, m world.Message, unreadable error) (decision lane.Decision, reached string) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("a delivery panicked", slog.String("message", d.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			decision = w.failed(d, world.Message{}, world.Outcome{Reason: fmt.Sprintf("the delivery panicked: %v", p)})
		}
	}()
	if unreadable != nil {
		return w.dead(d, m, Undeliverable, unreadable.Error()), ""
	}
	if world.IsHealthCheck(m.QueueName) {
		return w.deliverHealthCheck(d, m)
	}
	return w.deliverMessage(d, m)
}

// deliverMessage delivers to one of the apps that may have the message.
func (w *worker) deliverMessage(d *delivery, m world.Message) (decision lane.Decision, reached string) {
	if w.isOld(m) {
		if decision, late := w.tooLate(d, m); late {
			return decision, ""
		}
	}
	choice, err := w.q.apps.Choose(d.Context(), m, d.App)
	if err != nil {
		return lane.Decision{Disposition: lane.Released, Due: w.q.dueIn(redisHiccup), Reason: err.Error(), Unseen: true}, ""
	}
	candidates := choice.Apps
	if len(candidates) > 0 {
		w.q.health.Present(w.Kind, m)
	} else if candidates, decision = w.noApp(d, m, choice.Lapsed); len(candidates) == 0 {
		return decision, ""
	}
	return w.tryApps(d, m, candidates, w.throttleLimit(choice.Several))
}

// tryApps delivers to the first of the apps that can be reached. If that app has no capacity, the message
// waits for it.
func (w *worker) tryApps(d *delivery, m world.Message, candidates []world.App, most int) (decision lane.Decision, reached string) {
	decision = lane.Decision{Disposition: lane.WaitingForApp, Due: w.q.dueIn(w.q.cfg.Backoff.UnreachableMax), Unseen: true}
	for i, app := range candidates {
		if wait := w.q.health.WaitFor(app); wait > 0 {
			if due := w.q.dueIn(wait); i == 0 || due < decision.Due {
				decision.Due, decision.Reason = due, w.q.health.WhyWaits(app)
			}
			continue
		}
		if decision, stop := w.mayGo(d, app.BaseURL); stop {
			return decision, ""
		}
		if !w.throttle.enter(d.Context(), app.BaseURL, most) {
			reason := fmt.Sprintf("the app at %s has as many deliveries as one replica gives it (%d)", withoutCredentials(app.BaseURL), most)
			return lane.Decision{Disposition: lane.Throttled, Due: w.q.dueIn(throttleTime), App: app.BaseURL, Room: most, Unseen: true, Reason: reason}, ""
		}
		d.enter(app.BaseURL)
		if decision, stop := w.mayBegin(d, app.BaseURL, len(candidates) > 1); stop {
			return decision, ""
		}
		stop := w.watch(d, app, m)
		begin := time.Now()
		out := w.send(d, app, m)
		stop()
		w.noteJSON(app, out)
		answered := out.Verdict == world.Done || out.Verdict == world.Reschedule
		if answered && app.SDK == apps.SDKv4 && w.Kind == world.KindFlow && m.StepID == "" {
			d.replayed, d.took = m.RunID, time.Since(begin)
		}
		if out.Verdict != world.Unreachable {
			w.answered(d, app.BaseURL)
			d.found = w.q.health.Found(app)
		}
		decision, reached = w.decide(d, app, m, out, time.Since(begin))
		if decision.Disposition != lane.WaitingForApp || !decision.Unseen || i == len(candidates)-1 {
			return decision, reached
		}
		w.leave(d)
	}
	return decision, reached
}

// mayBegin waits until the app has noticed the end of an earlier delivery that was cut, and checks
// that the message is still ours. If the delivery may not begin, decision is what becomes of the message.
func (w *worker) mayBegin(d *delivery, app string, several bool) (decision lane.Decision, stop bool) {
	decision = lane.Decision{Disposition: lane.Released, Unseen: true}
	if left := d.HoldLeft(); left > 0 && !pause.For(d.Context(), left) {
		decision.Hold = d.HoldLeft()
		return decision, true
	}
	ours, err := w.Begin(d.Claim, app, several)
	switch {
	case err != nil:
		decision.Due, decision.Reason = w.q.dueIn(redisHiccup), err.Error()
		return decision, true
	case !ours:
		w.log.Info("a message was lost to another replica before its delivery began", slog.String("message", d.ID))
		return lane.Decision{Disposition: lane.Lost}, true
	}
	return decision, false
}

// leave gives back the capacity of an app that a delivery has used.
func (w *worker) leave(d *delivery) {
	app := d.enter("")
	if app != "" && w.throttle.leave(app) {
		w.bringForward(app)
	}
}

// send makes the request. It tries a few times while not a byte of it has reached the app.
func (w *worker) send(d *delivery, app world.App, m world.Message) world.Outcome {
	request := world.Delivery{
		MessageID: d.ID, Attempt: d.Attempt(), BaseURL: app.BaseURL, Kind: w.Kind, TakesPreload: w.takesPreload(app, m), AsJSON: w.wantsJSON(app), Message: m,
	}
	if app.AliveUntil != 0 { // 0 at the configured address, where no app has registered
		request.Target, request.HasWorkflow = app.DeploymentID, apps.HasWorkflow(app, m, world.MillisOf(w.q.cfg.Clock.Now()))
	}
	if request.TakesPreload && time.Since(d.PreloadedAt) < preloadFresh {
		request.Preload = d.Preload
	}
	request.NewConnection = w.q.health.IsMisdirected(app)
	for try := 0; ; try++ {
		out := w.q.cfg.Deliverer.Deliver(d.Context(), request)
		request.NewConnection = request.NewConnection || out.Misdirected
		request.Preload = nil // outdated in the next try
		quick := w.q.cfg.Backoff.Quick
		if out.Verdict != world.Unreachable || out.Sent || out.NoApp || try >= len(quick) || !pause.For(d.Context(), quick[try]) {
			return out
		}
	}
}

// withoutCredentials is an address without the user name and the password that WORKFLOW_BASE_URL may have.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User = nil
	return u.String()
}

// watch makes the delivery of a flow to an app of SDK v5 give up its slot when it is long-running, until stop is called.
func (w *worker) watch(d *delivery, app world.App, m world.Message) (stop func()) {
	if w.Kind != world.KindFlow || app.SDK != apps.SDKv5 && m.SDK != apps.SDKv5 {
		return func() {}
	}
	return w.Watch(d.Claim, func() {
		if w.q.cfg.AppConcurrency == 0 { // a configured limit counts all deliveries
			w.leave(d)
		}
	})
}
