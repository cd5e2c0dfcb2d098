package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is the least time between two equal warnings.
	repeatAfter = 10 * time.Minute
	// repeatsShown is how many repeats in between are logged at INFO.
	repeatsShown = 100
	// repeatsKept limits the warnings that are remembered.
	repeatsKept = 1000
)

// repeats is a log handler that passes a warning once in ten minutes, with the number of its repeats since. It logs
// up to a hundred repeats in between at INFO, and further ones at DEBUG. So a crash that affects a thousand messages
// is one warning. An error concerns one run or message; it is a repeat only if the run or message is the same, too.
type repeats struct {
	next slog.Handler
	with string // the attributes that every record has
	seen *seenWarnings
}

type seenWarnings struct {
	mu   sync.Mutex
	last map[string]*warning
}

type warning struct {
	at    time.Time // of the last one that was passed
	since int       // repeats since then
}

func withoutRepeats(next slog.Handler) slog.Handler {
	return &repeats{next: next, seen: &seenWarnings{last: map[string]*warning{}}}
}

// what and whom list the attributes that tell warnings, and errors, apart.
var (
	what = []string{"app", "deployment", "instead", "kind", "from", "variable", "namespace", "queue", "route"}
	whom = []string{"run_id", "step_id", "message", "request", "reason"}
)

// Enabled implements slog.Handler.
func (h *repeats) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	level, times := h.seen.judge(h.key(&r), r.Level, r.Time)
	if level != r.Level && !h.next.Enabled(ctx, level) {
		return nil
	}
	r.Level = level
	if times > 1 {
		r = r.Clone()
		r.AddAttrs(slog.Int("times", times))
	}
	return h.next.Handle(ctx, r)
}

func (h *repeats) key(r *slog.Record) string {
	var key strings.Builder
	key.WriteString(r.Level.String() + "\n" + h.with + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if slices.Contains(what, a.Key) || r.Level >= slog.LevelError && slices.Contains(whom, a.Key) {
			key.WriteString("\n" + a.Key + "=" + a.Value.String())
		}
		return true
	})
	return key.String()
}

// judge returns the level for a record, and the number of its occurrences since it was last passed, including this
// one.
func (s *seenWarnings) judge(key string, level slog.Level, now time.Time) (slog.Level, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.last[key]
	if w == nil {
		if len(s.last) >= repeatsKept {
			clear(s.last)
		}
		s.last[key] = &warning{at: now}
		return level, 1
	}
	w.since++
	switch {
	case now.Sub(w.at) >= repeatAfter:
		times := w.since
		w.at, w.since = now, 0
		return level, times
	case w.since > repeatsShown:
		return slog.LevelDebug, 1
	default:
		return slog.LevelInfo, 1
	}
}

// WithAttrs implements slog.Handler.
func (h *repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := h.with
	for _, a := range attrs {
		with += a.String() + "\n"
	}
	return &repeats{next: h.next.WithAttrs(attrs), with: with, seen: h.seen}
}

// WithGroup implements slog.Handler.
func (h *repeats) WithGroup(name string) slog.Handler {
	return &repeats{next: h.next.WithGroup(name), with: h.with + name + ".", seen: h.seen}
}
