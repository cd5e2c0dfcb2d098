package queue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// A connection that breaks during a delivery is not charged to the message: proxies cut
// connections, and processes end. But when the process has ended, the message may be why: a
// workflow that runs out of memory ends it at each delivery, and whatever else it does. Such a break
// is a crash. The messages count theirs until their app answers; suspects.go says what for.

// crashLooks are the pauses between the looks whether anybody listens after a break. A process
// that has ended is noticed by the first; the next ones are for a kernel that takes its time.
var crashLooks = []time.Duration{0, 30 * time.Millisecond, 150 * time.Millisecond}

// crashLookFresh is how long the answer holds. All deliveries of a process end with it at once.
const crashLookFresh = 300 * time.Millisecond

// prober is a Deliverer that can tell whether the process at an address has ended.
type prober interface {
	// Gone reports that certainly nobody listens at the address of an app, and false in doubt.
	Gone(ctx context.Context, baseURL string) bool
}

// crashLook is one look at an app, for all whose deliveries broke off together.
type crashLook struct {
	done  chan struct{} // closed when the rest is set
	ended bool
	at    time.Time
}

// crashLooker looks whether the processes of apps have ended.
type crashLooker struct {
	q    *Queue
	mu   sync.Mutex
	apps map[string]*crashLook
}

func newCrashLooker(q *Queue) *crashLooker {
	return &crashLooker{q: q, apps: map[string]*crashLook{}}
}

// processEnded reports whether the process of an app has ended without having said good-bye. It
// is asked right after a break.
func (cl *crashLooker) processEnded(ctx context.Context, app string) bool {
	cl.mu.Lock()
	look := cl.apps[app]
	if look == nil || look.old() {
		for address, other := range cl.apps {
			if other.old() {
				delete(cl.apps, address)
			}
		}
		look = &crashLook{done: make(chan struct{})}
		cl.apps[app] = look
		cl.mu.Unlock()
		look.ended = cl.look(ctx, app)
		look.at = time.Now()
		close(look.done)
		return look.ended
	}
	cl.mu.Unlock()
	select {
	case <-look.done:
		return look.ended
	case <-ctx.Done():
		return false
	}
}

func (w *crashLook) old() bool {
	select {
	case <-w.done:
		return time.Since(w.at) > crashLookFresh
	default:
		return false
	}
}

func (cl *crashLooker) look(ctx context.Context, app string) bool {
	p, ok := cl.q.cfg.Deliverer.(prober)
	if !ok {
		return false
	}
	for _, wait := range crashLooks {
		if !pause.For(ctx, wait) {
			return false
		}
		if !p.Gone(ctx, app) {
			continue
		}
		if cl.hasEnded(ctx, app) {
			return false
		}
		// Once is no warning: suspects.go warns when it goes on.
		cl.q.cfg.Logger.Info("the app's process ended during deliveries; they are made again", slog.String("app", app))
		return true
	}
	return false
}

// hasEnded reports whether an app was stopped. If that cannot be found out, it is taken as stopped.
func (cl *crashLooker) hasEnded(ctx context.Context, app string) bool {
	ctx, cancel := context.WithTimeout(ctx, lane.RedisTimeout)
	defer cancel()
	ended, err := cl.q.apps.HasEnded(ctx, app)
	return ended || err != nil
}

// trouble is what a message knows of crashes.
type trouble struct {
	read    bool
	crashes int           // in a row
	counted int           // those with no other suspect in the app's hands
	longest time.Duration // of the deliveries that ended so
	lasted  time.Duration // all of them together
	app     string        // whose one suspect it is, or whose next one is to be brought forward
	follow  *time.Timer   // when the next suspect may follow although it is delivered yet
}

// readTrouble reads it once. Only a message that an app has perhaps begun can have any.
func (w *worker) readTrouble(d *delivery) error {
	if d.App == "" || d.trouble.read {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.Context(), lane.RedisTimeout)
	defer cancel()
	var f struct {
		Crashes int   `redis:"crashes"`
		Counted int   `redis:"counted"`
		Longest int64 `redis:"longest"`
		Lasted  int64 `redis:"lasted"`
	}
	if err := w.q.redis.HMGet(ctx, w.Keys.Task+d.ID, "crashes", "counted", "longest", "lasted").Scan(&f); err != nil {
		return fmt.Errorf("read the crashes of a message: %w", err)
	}
	d.trouble = trouble{
		read: true, crashes: f.Crashes, counted: f.Counted,
		longest: time.Duration(f.Longest) * time.Millisecond, lasted: time.Duration(f.Lasted) * time.Millisecond,
	}
	return nil
}

// broke decides about a message whose delivery broke off after so long: the app is there but broke
// off, so this message waits and the others need not, or its process has ended.
func (w *worker) broke(d *delivery, app string, m world.Message, out world.Outcome, lasted time.Duration) lane.Outcome {
	o := lane.Outcome{Disposition: lane.WaitingForApp, Due: w.q.dueIn(w.q.cfg.Backoff.Unreachable(2)), Reason: out.Reason, App: app}
	if !w.q.crashes.processEnded(w.q.phases.Delivering, app) {
		w.q.health.Broke(app, d.ID, m, out.Reason)
		return o
	}
	t := &d.trouble
	t.crashes++
	t.longest, t.lasted = max(t.longest, lasted), t.lasted+lasted
	w.log.Debug("the app's process ended during a delivery; it is made again", slog.String("message", d.ID), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.Int("in a row", t.crashes), slog.String("app", app))
	if err := w.noteCrash(d, app); err != nil {
		w.log.Debug("a crash is not counted", slog.String("message", d.ID), slog.Any("error", err))
		return o
	}
	o.Reason = fmt.Sprintf("the app's process ended during this delivery, %d times in a row; %s", t.crashes, out.Reason)
	if w.Kind != world.KindFlow {
		return o
	}
	b := w.q.cfg.Backoff
	if t.counted >= b.CrashesMost {
		return w.fatal(d, app, m)
	}
	if wait := b.Crashed(t.counted); wait > 0 {
		// No registration brings it forward: the app is to have some peace.
		o.Disposition, o.Due = lane.Released, w.q.dueIn(wait)
	}
	return o
}

// noteCrash writes it to Redis.
func (w *worker) noteCrash(d *delivery, app string) error {
	ctx, cancel := context.WithTimeout(w.q.phases.Writing, lane.RedisTimeout)
	defer cancel()
	reply, err := w.q.scripts.Crashed.Run(ctx, w.q.redis,
		[]string{w.Keys.Task + d.ID, w.interruptedKey(app), w.suspectKey(app)},
		d.ID, d.Owner, d.trouble.crashes, d.trouble.longest.Milliseconds(), suspectKept.Seconds(), d.trouble.lasted.Milliseconds())
	if err != nil {
		return err
	}
	if len(reply) < 2 || reply[0] != int64(1) {
		return nil // somebody else's by now
	}
	counted, err := luascript.Int(reply[1])
	d.trouble.counted = int(counted)
	return err
}

// fatal fails the run of a message that ends the app's process at each delivery. Its message is done
// with that: redriving it would come to the same.
func (w *worker) fatal(d *delivery, app string, m world.Message) lane.Outcome {
	reason := fmt.Sprintf("the app's process ended %d times during this delivery", d.trouble.counted)
	if w.q.cfg.RunDead == nil || m.RunID == "" {
		w.cleared(d, app)
		return w.dead(d, m, Fatal, reason)
	}
	if o, ok := w.tellRun(d, m, Fatal, reason); !ok {
		o.Disposition = lane.Released
		return o
	}
	defer w.runEnded(m)
	w.log.Error("a run was failed, because the app's process ended again and again while its workflow ran; look for what it does there, such as using up the memory",
		slog.String("message", d.ID), slog.String("run_id", m.RunID), slog.String("queue name", m.QueueName), slog.String("app", app), slog.Int("times", d.trouble.counted))
	w.cleared(d, app)
	return lane.Outcome{Disposition: lane.Done}
}

func (w *worker) interruptedKey(app string) string { return w.Keys.Interrupted + rediskey.Part(app) }
func (w *worker) suspectKey(app string) string     { return w.Keys.Suspect + rediskey.Part(app) }
