package lane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// A message is delayed during a sweep, after Redis has answered without it. Its time is not forgotten until the next
// regular sweep, seconds later; not even if it is earlier than the time that the sweep was made for, or has passed by
// now.
func TestTimeNotedDuringASweepIsKept(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	at := func(ms int64) world.Millis { return world.MillisOf(now) + world.Millis(ms) }
	for story, c := range map[string]struct{ before, during, answer, want world.Millis }{
		"nothing else is delayed":                  {0, at(50), 0, at(50)},
		"after the time of the sweep":              {at(-1), at(50), 0, at(50)},
		"it has passed by the time it is heard of": {0, at(-5), 0, at(-5)},
		"and the answer is earlier":                {at(-1), at(50), at(20), at(20)},
		"and the answer is later":                  {at(-1), at(50), at(60), at(50)},
		"nothing is noted":                         {at(-1), 0, at(60), at(60)},
		"nothing is noted, nothing is delayed":     {at(-1), 0, 0, 0},
	} {
		timer := newDueTimer(worldtest.StoppedClock(now))
		if c.before != 0 {
			timer.note(c.before)
		}
		timer.ask()
		if c.during != 0 {
			timer.note(c.during)
		}
		timer.set(c.answer)
		want := time.Hour
		if c.want != 0 {
			want = max(0, c.want.Time().Sub(now))
		}
		require.Equal(t, want, timer.wait(time.Hour), story)
		timer.ask()
		timer.set(0)
		require.Equal(t, time.Hour, timer.wait(time.Hour), "%s: the next answer counts", story)
	}
}
