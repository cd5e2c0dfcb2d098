package streaming_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

const (
	endedRun   = "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	itsStream  = "strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user"
	passedOn   = "strm_01BX5ZZKBKACTAV9WEVGEMMVRZ" // a stream of no name of the run's
	ofNobody   = "__health_check__x"
	fastAudits = 5 * time.Millisecond
)

// runs stands in for the store and the queue.
type runs struct {
	mu   sync.Mutex
	ends map[string]world.RunEnd
}

func (r *runs) RunEnds(_ context.Context, runIDs []string) ([]world.RunEnd, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]world.RunEnd, len(runIDs))
	for i, id := range runIDs {
		out[i] = r.ends[id]
	}
	return out, nil
}

func (r *runs) end(runID string, end world.RunEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[runID] = end
}

type endBundle struct {
	*streaming.Service
	runs  *runs
	clock *testClock
}

func startWithRuns(t *testing.T, r *redistest.Redis) *endBundle {
	t.Helper()
	b := &endBundle{runs: &runs{ends: map[string]world.RunEnd{}}, clock: &testClock{now: time.UnixMilli(1_800_000_000_000)}}
	b.Service = start(t, r.Client, r.Prefix, func(c *streaming.Config) {
		c.Runs, c.Clock, c.AuditInterval = b.runs, b.clock, fastAudits
	})
	return b
}

func (b *endBundle) now() world.Millis { return world.MillisOf(b.clock.Now()) }

func (b *endBundle) write(t *testing.T, name string) {
	t.Helper()
	_, err := b.AppendChunks(t.Context(), world.Append{Name: name, RunID: endedRun, Chunks: [][]byte{[]byte("x")}})
	require.NoError(t, err)
}

func (b *endBundle) done(t *testing.T, name string) bool {
	t.Helper()
	info, err := b.StreamInfo(t.Context(), name)
	require.NoError(t, err)
	page, err := b.ListChunks(t.Context(), name, world.PageRequest{})
	require.NoError(t, err)
	require.Equal(t, info.Done, page.Done)
	return info.Done
}

// BR-45: a run ends without closing its streams. Readers from before and after, of a stream of
// its name and of one that was passed on, see the end; nobody else's do.
func TestStreamsEndWithTheirRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := startWithRuns(t, r)
		before := read(t, b.Service, itsStream, 0)
		foreign := read(t, b.Service, ofNobody, 0)
		b.write(t, itsStream)
		b.write(t, passedOn)
		passed := read(t, b.Service, passedOn, 0)
		before.has(t, 1)
		passed.has(t, 1)
		require.False(t, b.done(t, itsStream))

		b.runs.end(endedRun, world.RunEnd{At: b.now()})
		require.False(t, b.done(t, itsStream), "late writes may come yet")
		b.clock.add(time.Second)
		for _, reading := range []*reading{before, passed, read(t, b.Service, itsStream, 0), read(t, b.Service, itsStream, 7)} {
			require.NoError(t, reading.end(t))
		}
		require.True(t, b.done(t, itsStream))
		require.True(t, b.done(t, passedOn))
		require.False(t, b.done(t, ofNobody))
		require.Empty(t, foreign.got())
		_, err := b.AppendChunks(t.Context(), world.Append{Name: itsStream, RunID: endedRun, Chunks: [][]byte{[]byte("x")}})
		require.Equal(t, world.CodeStreamClosed, world.ErrorCode(err))
	})
}

// What the SDK flushes after the run's end is still read, as long as it keeps coming, for five
// seconds; and a delivery that goes on holds the stream open for as long as it takes.
func TestLateWritesComeBeforeTheEnd(t *testing.T) {
	t.Parallel()
	b := startWithRuns(t, redistest.New(t))
	b.write(t, itsStream)
	b.runs.end(endedRun, world.RunEnd{At: b.now(), Busy: true})
	b.clock.add(time.Hour)
	require.False(t, b.done(t, itsStream), "a step goes on")
	b.write(t, itsStream)

	b.runs.end(endedRun, world.RunEnd{At: b.now()})
	for range 5 {
		require.False(t, b.done(t, itsStream))
		b.clock.add(900 * time.Millisecond)
		b.write(t, itsStream)
	}
	require.False(t, b.done(t, itsStream))
	b.clock.add(500 * time.Millisecond)
	require.True(t, b.done(t, itsStream), "five seconds are over")
	info, err := b.StreamInfo(t.Context(), itsStream)
	require.NoError(t, err)
	require.Equal(t, int64(6), info.TailIndex)
}

// A run that never wrote: its readers end too, and the stream is an empty closed one.
func TestAStreamThatWasNeverWrittenEnds(t *testing.T) {
	t.Parallel()
	b := startWithRuns(t, redistest.New(t))
	early := read(t, b.Service, itsStream, 0)
	b.runs.end(endedRun, world.RunEnd{At: b.now()})
	b.clock.add(time.Second)
	require.NoError(t, early.end(t))
	require.Empty(t, early.got())
	require.True(t, b.done(t, itsStream))
}
