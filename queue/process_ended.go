package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/queue/internal/lane"
)

// crashLooks are the pauses before each check whether a process still listens after a break. The first check
// notices most that have ended; the others are for a kernel that closes its sockets late.
var crashLooks = []time.Duration{0, 30 * time.Millisecond, 150 * time.Millisecond}

// crashLookFresh is how long an answer is valid. All deliveries of a process break at the same time.
const crashLookFresh = 300 * time.Millisecond

// prober is a Deliverer that can tell whether the process at an address has ended.
type prober interface {
	// Gone reports whether certainly nothing listens at the address of an app. It is false in doubt.
	Gone(ctx context.Context, baseURL string) bool
}

// crashLook is one check of an app, for all deliveries that broke at the same time.
type crashLook struct {
	done  chan struct{} // closed when the other fields are set
	ended bool
	at    time.Time
}

// crashLooker checks whether the processes of apps have ended.
type crashLooker struct {
	q    *Queue
	mu   sync.Mutex
	apps map[string]*crashLook
}

func newCrashLooker(q *Queue) *crashLooker {
	return &crashLooker{q: q, apps: map[string]*crashLook{}}
}

// processEnded reports whether the process of an app has ended without unregistering. It
// is called right after a break.
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
		// One end is no warning: suspects.go warns if it happens again.
		cl.q.cfg.Logger.Info("the app's process ended during deliveries; they are made again", slog.String("app", app))
		return true
	}
	return false
}

// hasEnded reports whether an app was stopped. If that is not known, the app counts as stopped.
func (cl *crashLooker) hasEnded(ctx context.Context, app string) bool {
	ctx, cancel := context.WithTimeout(ctx, lane.RedisTimeout)
	defer cancel()
	ended, err := cl.q.apps.HasEnded(ctx, app)
	return ended || err != nil
}
