package recovery

import (
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// busyFor is how many times the grace a run counts as busy after its messages were checked. Sleeps and work take
	// longer than a stray message does.
	busyFor = 10
	// looksKept limits the memory, to about a megabyte. Runs above the limit are checked again.
	looksKept = 10_000
)

// looks records when the messages of a run were checked, so that runs which sleep, or have a long step, cost little
// at each pass. One goroutine uses it.
type looks map[string]time.Time

// due returns the runs to check now, and records that they are checked.
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
