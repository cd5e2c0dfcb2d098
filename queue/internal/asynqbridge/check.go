package asynqbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// checkTimeout is how long asynq may take to send its calls: a few milliseconds on a machine that is not overloaded.
const checkTimeout = 30 * time.Second

var checked = sync.OnceValue(func() error { return rehearse(knownCalls) })

// Check reports in one sentence what this version of asynq sends otherwise than this package knows it. It asks once a process.
func Check() error { return checked() }

// rehearse has a client and a server of asynq send each of the calls, to no Redis.
func rehearse(calls []call) error {
	r := newRehearsal(calls)
	b := newBackend(sealed(answerNothing), "rehearsal", func(what, key string) {
		r.deviates(fmt.Sprintf("it sends %s (first key %q), which this build does not know", what, key))
	})
	b.calls, b.noted = calls, r.note
	bridge := newBridge(b, "rehearsal", slog.New(slog.DiscardHandler))

	// One message for each way in which asynq lets go of one.
	var messages []string
	for _, fate := range []string{"done", "retry", "archive", "requeue"} {
		message, err := bridge.Encode(context.Background(), world.KindFlow, fate, world.Message{QueueName: fate})
		if err != nil {
			r.deviates("it does not encode a message: " + err.Error())
			return r.err()
		}
		messages = append(messages, string(message))
	}
	ending, release := make(chan struct{}), make(chan struct{})
	close(ending)
	defer close(release)
	w := Worker{Ending: ending, Next: func() (string, bool) {
		if len(messages) == 0 {
			return "", false
		}
		next := messages[0]
		messages = messages[1:]
		return next, true
	}}
	config := asynq.Config{
		Concurrency: len(messages) + 1, TaskCheckInterval: time.Millisecond, DelayedTaskCheckInterval: time.Millisecond,
		JanitorInterval: time.Millisecond, ShutdownTimeout: time.Millisecond,
	}
	stop, err := bridge.serve(w, config, func(id string, m world.Message, err error) error {
		switch {
		case err != nil:
			r.deviates("it does not give back what was encoded: " + err.Error())
			return err
		case m.QueueName != id:
			r.deviates("it gives back another message than was encoded")
		case id == "retry":
			return errors.New("not now")
		case id == "archive":
			return asynq.SkipRetry
		case id == "requeue": // until asynq's patience ends
			r.note(inHand)
			<-release
		}
		return nil
	})
	if err != nil {
		r.deviates("its server does not start: " + err.Error())
		return r.err()
	}
	r.await("requeue", "sign off") // these come when it stops
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		r.missing()
	case <-time.After(checkTimeout):
		r.deviates("its server does not stop")
	}
	return r.err()
}

// answerNothing is a Redis that has nothing and takes everything.
func answerNothing(cmd redis.Cmder) error {
	if c, ok := cmd.(*redis.Cmd); ok {
		c.SetVal(int64(0))
	}
	return nil
}

// inHand stands for the message that is put back when asynq stops.
const inHand = "in hand"

// rehearsal notes what asynq has sent, and how that deviates from what is known.
type rehearsal struct {
	mu      sync.Mutex
	open    map[string]struct{} // not sent yet
	first   string              // deviation
	changed chan struct{}
}

func newRehearsal(calls []call) *rehearsal {
	r := &rehearsal{open: map[string]struct{}{inHand: {}}, changed: make(chan struct{}, 1)}
	for _, c := range calls {
		r.open[c.name] = struct{}{}
	}
	return r
}

func (r *rehearsal) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, name)
	r.change()
}

func (r *rehearsal) deviates(how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == "" {
		r.first = how
	}
	r.change()
}

func (r *rehearsal) change() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// await waits until all calls were sent but these, or one deviates, or it takes too long.
func (r *rehearsal) await(except ...string) {
	timeout := time.NewTimer(checkTimeout)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		left := len(r.open)
		for _, name := range except {
			if _, open := r.open[name]; open {
				left--
			}
		}
		over := left == 0 || r.first != ""
		r.mu.Unlock()
		if over {
			return
		}
		select {
		case <-r.changed:
		case <-timeout.C:
			return
		}
	}
}

// missing makes it a deviation if a call was not sent.
func (r *rehearsal) missing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) == 0 || r.first != "" {
		return
	}
	names := make([]string, 0, len(r.open))
	for name := range r.open {
		names = append(names, name)
	}
	slices.Sort(names)
	r.first = "it does not send " + strings.Join(names, ", ")
}

func (r *rehearsal) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == "" {
		return nil
	}
	return fmt.Errorf("asynq %s is not the one that this build is made for: %s; build it with the version of its go.mod", asynqVersion(), r.first)
}

func asynqVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown version)"
	}
	for _, m := range info.Deps {
		if m.Path != "github.com/hibiken/asynq" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		return m.Version
	}
	return "(unknown version)"
}
