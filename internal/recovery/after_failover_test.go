package recovery

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// A failover may lose the effect of a wake-up but not the queue's memory of it: the run is woken again under the new
// master, once. While the masters are not known it is woken as if they had not changed.
func TestARunIsWokenAgainAfterAFailover(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		masters, unknown := []string{"b", "a"}, error(nil)
		b.cfg.Masters = func(context.Context) ([]string, error) { return masters, unknown }
		runID := b.begin(3)
		wakes := func() []string {
			b.clock.Add(time.Minute)
			require.NoError(t, b.pass(t.Context()))
			return b.queue.woken()
		}
		require.Equal(t, []string{runID}, wakes())
		masters = []string{"a", "b"}
		require.Empty(t, wakes(), "the same masters")
		masters = []string{"a", "c"}
		require.Equal(t, []string{runID}, wakes())
		require.Empty(t, wakes())
		unknown = errors.New("one is away")
		require.Equal(t, []string{runID}, wakes())
		require.Empty(t, wakes())
	})
}
