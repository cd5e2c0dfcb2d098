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
		for address, l := range cl.apps {
			if l.old() {
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

func (l *crashLook) old() bool {
	select {
	case <-l.done:
		return time.Since(l.at) > crashLookFresh
	default:
		return false
	}
}

func (cl *crashLooker) look(ctx context.Context, app string) bool {
	p, ok := cl.q.cfg.Deliverer.(prober)
	if !ok {
		return false
	}
	for _, d := range crashLooks {
		if !pause.For(ctx, d) {
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
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
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
func (l *lane) readTrouble(c *claim) error {
	if c.app == "" || c.trouble.read {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, redisTimeout)
	defer cancel()
	var f struct {
		Crashes int   `redis:"crashes"`
		Counted int   `redis:"counted"`
		Longest int64 `redis:"longest"`
		Lasted  int64 `redis:"lasted"`
	}
	if err := l.q.redis.HMGet(ctx, l.keys.task+c.id, "crashes", "counted", "longest", "lasted").Scan(&f); err != nil {
		return fmt.Errorf("read the crashes of a message: %w", err)
	}
	c.trouble = trouble{
		read: true, crashes: f.Crashes, counted: f.Counted,
		longest: time.Duration(f.Longest) * time.Millisecond, lasted: time.Duration(f.Lasted) * time.Millisecond,
	}
	return nil
}

// broke decides about a message whose delivery broke off after so long: the app is there but broke
// off, so this message waits and the others need not, or its process has ended.
func (l *lane) broke(c *claim, app string, m world.Message, out world.Outcome, lasted time.Duration) outcome {
	o := outcome{disposition: dispositionWaitingForApp, due: l.q.dueIn(l.q.cfg.Backoff.Unreachable(2)), reason: out.Reason, app: app}
	if !l.q.crashes.processEnded(l.q.delivering, app) {
		l.q.health.Broke(app, c.id, m, out.Reason)
		return o
	}
	t := &c.trouble
	t.crashes++
	t.longest, t.lasted = max(t.longest, lasted), t.lasted+lasted
	l.log.Debug("the app's process ended during a delivery; it is made again", slog.String("message", c.id), slog.String("run_id", m.RunID),
		slog.String("step_id", m.StepID), slog.Int("in a row", t.crashes), slog.String("app", app))
	if err := l.noteCrash(c, app); err != nil {
		l.log.Debug("a crash is not counted", slog.String("message", c.id), slog.Any("error", err))
		return o
	}
	o.reason = fmt.Sprintf("the app's process ended during this delivery, %d times in a row; %s", t.crashes, out.Reason)
	if l.kind != world.KindFlow {
		return o
	}
	b := l.q.cfg.Backoff
	if t.counted >= b.CrashesMost {
		return l.fatal(c, app, m)
	}
	if wait := b.Crashed(t.counted); wait > 0 {
		// No registration brings it forward: the app is to have some peace.
		o.disposition, o.due = dispositionReleased, l.q.dueIn(wait)
	}
	return o
}

// noteCrash writes it to Redis.
func (l *lane) noteCrash(c *claim, app string) error {
	ctx, cancel := context.WithTimeout(l.q.lasting, redisTimeout)
	defer cancel()
	reply, err := l.q.scripts.crashed.Run(ctx, l.q.redis,
		[]string{l.keys.task + c.id, l.interruptedKey(app), l.suspectKey(app)},
		c.id, c.owner, c.trouble.crashes, c.trouble.longest.Milliseconds(), suspectKept.Seconds(), c.trouble.lasted.Milliseconds())
	if err != nil {
		return err
	}
	if len(reply) < 2 || reply[0] != int64(1) {
		return nil // somebody else's by now
	}
	counted, err := luascript.Int(reply[1])
	c.trouble.counted = int(counted)
	return err
}

// fatal fails the run of a message that ends the app's process at each delivery. Its message is done
// with that: redriving it would come to the same.
func (l *lane) fatal(c *claim, app string, m world.Message) outcome {
	reason := fmt.Sprintf("the app's process ended %d times during this delivery", c.trouble.counted)
	if l.q.cfg.RunDead == nil || m.RunID == "" {
		l.cleared(c, app)
		return l.dead(c, m, Fatal, reason)
	}
	if o, ok := l.tellRun(c, m, Fatal, reason); !ok {
		o.disposition = dispositionReleased
		return o
	}
	defer l.runEnded(m)
	l.log.Error("a run was failed, because the app's process ended again and again while its workflow ran; look for what it does there, such as using up the memory",
		slog.String("message", c.id), slog.String("run_id", m.RunID), slog.String("queue name", m.QueueName), slog.String("app", app), slog.Int("times", c.trouble.counted))
	l.cleared(c, app)
	return outcome{disposition: dispositionDone}
}

func (l *lane) interruptedKey(app string) string { return l.keys.interrupted + rediskey.Part(app) }
func (l *lane) suspectKey(app string) string     { return l.keys.suspect + rediskey.Part(app) }
func (l *lane) suspectsKey(app string) string    { return l.keys.suspects + rediskey.Part(app) }
