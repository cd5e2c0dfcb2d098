package apps

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// complaintGrace is how long a trouble with an app must last to become a warning. An app takes as long to boot, to compile
	// its routes, or to be replaced, and nobody has to act on that.
	complaintGrace = 30 * time.Second
	// complaintInterval is the shortest time between two warnings about one trouble.
	complaintInterval = 10 * time.Minute
	// complaintQuiet is the time without a report after which a trouble is over. Messages that wait for an app are tried more often.
	complaintQuiet = 2 * time.Minute
	// complaintPause is how long a trouble that comes back is not logged again.
	complaintPause = time.Minute
	// complaintsKept bounds the remembered troubles, and the remembered refused messages.
	complaintsKept = 1000
)

// complaints keeps the log short while a trouble with an app lasts. It logs a line when the trouble begins, a warning when it has lasted
// for complaintGrace and then every ten minutes, with how often it happened, and a line when it is over.
type complaints struct {
	clock world.Clock
	log   *slog.Logger

	mu      sync.Mutex
	known   map[string]*complaint
	refused map[string]string // key of the complaint, by message
}

type complaint struct {
	since, last time.Time // the first report and the last; since is zero when the trouble is over
	spoke       time.Time // the last line at any level
	warned      time.Time // the last warning
	mentioned   bool      // there was a line since the trouble began
	times       int       // reports since the last line
	messages    int       // that were refused and are not acknowledged yet
}

func newComplaints(clock world.Clock, log *slog.Logger) *complaints {
	return &complaints{clock: clock, log: log, known: map[string]*complaint{}, refused: map[string]string{}}
}

// lasts reports a trouble. Reports with the same key are one trouble.
func (c *complaints) lasts(key, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.say(key, complaintGrace, what, attrs)
}

// stays reports a trouble that does not end by itself, so it is a warning at once.
func (c *complaints) stays(key, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.say(key, 0, what, attrs)
}

func (c *complaints) say(key string, grace time.Duration, what string, attrs []any) *complaint {
	now := c.clock.Now()
	t := c.of(key)
	if now.Sub(t.last) >= complaintQuiet {
		*t = complaint{warned: t.warned, spoke: t.spoke}
		maps.DeleteFunc(c.refused, func(_, of string) bool { return of == key })
	}
	t.last = now
	t.times++
	switch {
	case t.since.IsZero() && grace > 0:
		t.since, t.times = now, 1
		if t.mentioned = now.Sub(t.spoke) >= complaintPause; t.mentioned {
			t.spoke = now
			c.log.Info(what, attrs...)
		}
	case now.Sub(t.since) >= grace && now.Sub(t.warned) >= complaintInterval:
		if t.since.IsZero() {
			t.since = now
		}
		c.log.Warn(what, append(attrs, slog.Duration("lasts", now.Sub(t.since).Round(time.Second)), slog.Int("times", t.times))...)
		t.spoke, t.warned, t.mentioned, t.times = now, now, true, 0
	}
	return t
}

// over ends a trouble. It does nothing if there is none.
func (c *complaints) over(key, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.known[key]; t != nil {
		c.end(t, what, attrs)
	}
}

func (c *complaints) end(t *complaint, what string, attrs []any) {
	now := c.clock.Now()
	if !t.since.IsZero() && t.mentioned {
		c.log.Info(what, append(attrs, slog.Duration("lasted", now.Sub(t.since).Round(time.Millisecond)))...)
		t.spoke = now
	}
	t.since, t.messages = time.Time{}, 0
}

// refuses reports an answer of an app that does not acknowledge a message.
func (c *complaints) refuses(key, message, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused[message] != key {
		c.settle(message, "", nil)
	}
	t := c.say(key, complaintGrace, what, attrs)
	if len(c.refused) >= complaintsKept {
		maps.DeleteFunc(c.refused, func(_, of string) bool { // another replica has delivered these
			other := c.known[of]
			return other == nil || t.last.Sub(other.last) >= complaintQuiet
		})
	}
	if c.refused[message] == "" && len(c.refused) < complaintsKept {
		c.refused[message] = key
		t.messages++
	}
}

// isRefused reports whether a message is one of those that were refused.
func (c *complaints) isRefused(message string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[message] != ""
}

// settled is called when a message is no longer refused. The trouble is over with the last such message, which is logged unless
// what is empty.
func (c *complaints) settled(message, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(message, what, attrs)
}

func (c *complaints) settle(message, what string, attrs []any) {
	key, refused := c.refused[message]
	if !refused {
		return
	}
	delete(c.refused, message)
	t := c.known[key]
	if t == nil || t.messages == 0 {
		return
	}
	if t.messages--; t.messages > 0 {
		return
	}
	t.mentioned = t.mentioned && what != ""
	c.end(t, what, attrs)
}

// of returns what is known of a trouble. If there are too many, the one without a report for the longest time is forgotten.
func (c *complaints) of(key string) *complaint {
	t := c.known[key]
	if t == nil {
		if len(c.known) >= complaintsKept {
			oldest := ""
			for k, other := range c.known {
				if oldest == "" || other.last.Before(c.known[oldest].last) {
					oldest = k
				}
			}
			delete(c.known, oldest)
		}
		t = &complaint{}
		c.known[key] = t
	}
	return t
}
