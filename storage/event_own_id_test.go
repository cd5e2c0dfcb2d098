package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// An event is found only by its own id: not by the id of another run's event, of another time or of the other kind, and
// not by a differently written slot.
func TestEventIsFoundByItsOwnIDAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		for _, spec := range []int{3, 7} {
			b := newBundle(t, r).on(t, spec)
			runID, other := b.running(), b.running()
			log := b.events(runID)
			for _, e := range log {
				got, err := b.GetEvent(b.ctx, runID, e.EventID, false)
				require.NoError(t, err)
				require.Equal(t, e, got)
			}
			for _, id := range []string{
				record.EventSlot(2), "evnt_2", "evnt_000000000000000000000000002", record.EventULID(runID, b.now(), 2), record.EventULID(runID, b.now()+1, 1), record.EventULID(other, b.now(), 1),
				record.EventID(runID, b.now(), 1, spec < 6), "evnt_0",
			} {
				_, err := b.GetEvent(b.ctx, runID, id, false)
				require.Equal(t, world.CodeEventNotFound, world.ErrorCode(err), id)
			}
		}
	})
}
