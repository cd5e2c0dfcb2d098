package queue

import (
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// complaintGrace is how long a trouble with an app must last to become a warning: an app takes as long to boot, to compile
	// its routes, or to be replaced, and nobody need do anything about that.
	complaintGrace = 30 * time.Second
	// complaintAgain is the least time between two warnings of one trouble.
	complaintAgain = 10 * time.Minute
	// complaintQuiet ends a trouble that is not heard of for so long. Whatever waits for an app is tried again sooner.
	complaintQuiet = 2 * time.Minute
	// complaintPause is how long a trouble that comes back is not mentioned again.
	complaintPause = time.Minute
	// complaintsKept bounds the troubles, and the refused messages, that are remembered.
	complaintsKept = 1000
)

// complaints keeps the log short while something about an app lasts: it says so when the trouble begins, warns when it has lasted, and
// then every ten minutes with how often it happened, and says when it is over.
type complaints struct {
	clock world.Clock
	log   *slog.Logger

	mu      sync.Mutex
	known   map[string]*complaint
	refused map[string]string // the complaint that a message belongs to, by message
}

type complaint struct {
	since, last time.Time // of the trouble; since is zero when it is over
	spoke       time.Time // the last line at any level
	warned      time.Time // the last warning
	mentioned   bool      // this time
	times       int       // since the last line
	messages    int       // that were refused and are not acknowledged yet
}

func newComplaints(clock world.Clock, log *slog.Logger) *complaints {
	return &complaints{clock: clock, log: log, known: map[string]*complaint{}, refused: map[string]string{}}
}

// lasts is called whenever a trouble shows, which is the same one if the key is.
func (c *complaints) lasts(key, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.say(key, complaintGrace, what, attrs)
}

// stays is lasts for a trouble that does not end by itself, so it is a warning at once.
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
	case now.Sub(t.since) >= grace && now.Sub(t.warned) >= complaintAgain:
		if t.since.IsZero() {
			t.since = now
		}
		c.log.Warn(what, append(attrs, slog.Duration("lasts", now.Sub(t.since).Round(time.Second)), slog.Int("times", t.times))...)
		t.spoke, t.warned, t.mentioned, t.times = now, now, true, 0
	}
	return t
}

// over is called when a trouble has ended, and does nothing if there was none.
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

// refuses is lasts for an answer of an app that does not acknowledge a message.
func (c *complaints) refuses(key, message, what string, attrs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused[message] != key {
		c.settle(message, "", nil)
	}
	t := c.say(key, complaintGrace, what, attrs)
	if len(c.refused) >= complaintsKept {
		maps.DeleteFunc(c.refused, func(_, of string) bool { // those that another replica has delivered
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

// settled is called when a message is no longer refused. The trouble is over with the last such message; without words
// nothing is said about that.
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

// of returns what is known of a trouble; the one that was not heard of for longest makes room for it.
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
