package recovery

import (
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// busyFor is how many times the grace a run whose messages were looked at is taken to be
	// busy. A run sleeps or works for longer than its messages are stray.
	busyFor = 10
	// looksKept bounds what is remembered, about a megabyte. Beyond it runs are looked at again.
	looksKept = 10_000
)

// looks remembers when the messages of a run were looked at, so that runs which sleep, or
// have a long step, cost little at each pass. It is used by one goroutine.
type looks map[string]time.Time

// due returns the runs to look at now, and notes that they are.
func (l looks) due(runs []world.RunLook, now time.Time, again time.Duration) []world.RunLook {
	var out []world.RunLook
	for _, run := range runs {
		if at, looked := l[run.RunID]; looked && now.Sub(at) < again {
			continue
		}
		if len(l) >= looksKept {
			clear(l)
		}
		l[run.RunID] = now
		out = append(out, run)
	}
	return out
}

func (l looks) forget(runID string) { delete(l, runID) }
