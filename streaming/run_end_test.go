package streaming_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/streaming"
)

const (
	endedRun   = "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	itsStream  = "strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user"
	passedOn   = "strm_01BX5ZZKBKACTAV9WEVGEMMVRZ" // a stream of no name of the run's
	ofNobody   = "__health_check__x"
	fastAudits = 5 * time.Millisecond
	quietTime  = 2 * time.Second // of the tests' clock
)

// runs is a fake of the store.
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

// endBundle is two replicas with one clock.
type endBundle struct {
	*streaming.Service
	other *streaming.Service
	runs  *runs
	clock *worldtest.Clock

	mu        sync.Mutex
	meanwhile func() // happens between the looks at a stream that seems over
}

// onNextLook runs f between the next two looks, once.
func (b *endBundle) onNextLook(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meanwhile = f
}

func (b *endBundle) betweenLooks() {
	b.mu.Lock()
	f := b.meanwhile
	b.meanwhile = nil
	b.mu.Unlock()
	if f != nil {
		f()
	}
}

func startWithRuns(t *testing.T, r *redistest.Redis) *endBundle {
	t.Helper()
	b := &endBundle{runs: &runs{ends: map[string]world.RunEnd{}}, clock: worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000))}
	replica := func() *streaming.Service {
		return start(t, r.Client, r.Prefix, func(c *streaming.Config) {
			c.Runs, c.Clock, c.AuditInterval, c.Quiet = b.runs, b.clock, fastAudits, quietTime
			c.BetweenLooks(b.betweenLooks)
		})
	}
	b.Service, b.other = replica(), replica()
	return b
}

func (b *endBundle) now() world.Millis { return world.MillisOf(b.clock.Now()) }

// awaitNote waits until Redis has a note that an append is in progress.
func (b *endBundle) awaitNote(t *testing.T, r *redistest.Redis) {
	t.Helper()
	require.Eventually(t, func() bool {
		at, _ := r.Client.Get(t.Context(), r.Prefix+"stream_arriving:{"+itsStream+"}").Int64()
		return world.Millis(at) == b.now()
	}, longWait, time.Millisecond)
}

// endRun ends the run now.
func (b *endBundle) endRun() { b.runs.end(endedRun, world.RunEnd{At: b.now()}) }

func (b *endBundle) write(t *testing.T, name string) {
	t.Helper()
	_, err := b.AppendChunks(t.Context(), world.Append{Name: name, RunID: endedRun, Chunks: [][]byte{[]byte("x")}})
	require.NoError(t, err)
}

// done is what both replicas return, in the state and in a page.
func (b *endBundle) done(t *testing.T, name string) bool {
	t.Helper()
	info, err := b.StreamInfo(t.Context(), name, 0)
	require.NoError(t, err)
	for _, on := range []*streaming.Service{b.Service, b.other} {
		again, err := on.StreamInfo(t.Context(), name, 0)
		require.NoError(t, err)
		require.Equal(t, info, again)
		page, err := on.ListChunks(t.Context(), name, world.PageRequest{})
		require.NoError(t, err)
		require.Equal(t, info.Done, page.Done)
	}
	return info.Done
}

// BR-45: a run ends without closing its streams. Readers from before and after, at both replicas, of a stream of its
// name and of one that was passed on, see the end once it was quiet for long enough; readers of other streams do not.
func TestStreamsEndWithTheirRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := startWithRuns(t, r)
		readers := []*reading{read(t, b.Service, itsStream, 0), read(t, b.other, itsStream, 0)}
		foreign := read(t, b.Service, ofNobody, 0)
		b.write(t, itsStream)
		b.write(t, passedOn)
		readers = append(readers, read(t, b.other, passedOn, 0))
		for _, reading := range readers {
			reading.has(t, 1)
		}
		require.False(t, b.done(t, itsStream))

		b.clock.Add(time.Hour)
		b.endRun()
		require.False(t, b.done(t, itsStream), "the time counts from the end of the run")
		b.clock.Add(quietTime - time.Millisecond)
		require.False(t, b.done(t, itsStream))
		b.clock.Add(time.Millisecond)
		for _, reading := range append(readers, read(t, b.Service, itsStream, 0), read(t, b.other, itsStream, 7)) {
			require.NoError(t, reading.end(t))
		}
		require.True(t, b.done(t, itsStream))
		require.True(t, b.done(t, passedOn))
		require.False(t, b.done(t, ofNobody))
		require.Empty(t, foreign.got())
	})
}

// A writer continues after the end of its run, at one replica, with pauses; readers are at both. The end that is not
// stored never hides a chunk: a later chunk opens the stream again, and readers that start then get everything.
func TestNoChunkIsLostToTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	const count = 6
	for _, gap := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 12 * time.Second} {
		for _, endsBehind := range []int{0, 1, 5} { // so many chunks
			t.Run(fmt.Sprintf("%v, the run ends behind %d", gap, endsBehind), func(t *testing.T) {
				t.Parallel()
				own := *r
				own.Prefix += fmt.Sprintf("%d:%d:", gap.Milliseconds(), endsBehind)
				b := startWithRuns(t, &own)
				early := []*reading{read(t, b.Service, itsStream, 0), read(t, b.other, itsStream, 0)}
				ended, seen := false, 0
				for i := range count {
					if i == endsBehind {
						b.endRun()
						ended = true
					}
					require.NoError(t, writeOne(t, b.Service, i))
					require.False(t, b.done(t, itsStream), "a chunk came just now")
					b.clock.Add(gap)
					require.Equal(t, ended && gap >= quietTime, b.done(t, itsStream))
					if ended && gap >= quietTime && seen == 0 {
						seen = i + 1
						for _, reading := range early {
							require.NoError(t, reading.end(t))
							require.Len(t, reading.got(), seen)
						}
						early = nil
					}
				}
				for _, on := range []*streaming.Service{b.Service, b.other} {
					early = append(early, read(t, on, itsStream, 0))
				}
				b.clock.Add(quietTime)
				for _, reading := range early {
					require.NoError(t, reading.end(t))
					require.Equal(t, chunks(0, numbered(0, count)...), reading.got())
				}
				require.NoError(t, b.CloseStream(t.Context(), world.StreamClose{Name: itsStream, RunID: endedRun}))
				require.True(t, b.done(t, itsStream))
				require.Equal(t, world.CodeStreamClosed, world.ErrorCode(writeOne(t, b.other, count)))
			})
		}
	}
}

func writeOne(t *testing.T, s *streaming.Service, i int) error {
	t.Helper()
	_, err := s.AppendChunks(t.Context(), world.Append{Name: itsStream, RunID: endedRun, Chunks: raw(numbered(i, i+1)...)})
	return err
}

// A run that never wrote: its readers get the end, too, and an empty stream; a late chunk is read nevertheless.
func TestAStreamThatWasNeverWrittenEnds(t *testing.T) {
	t.Parallel()
	b := startWithRuns(t, redistest.New(t))
	early := read(t, b.Service, itsStream, 0)
	b.endRun()
	b.clock.Add(quietTime)
	require.NoError(t, early.end(t))
	require.Empty(t, early.got())
	require.True(t, b.done(t, itsStream))
	b.write(t, itsStream)
	require.False(t, b.done(t, itsStream))
}

// An append that arrives at this replica keeps the stream open here, immediately; and at the other replica by a note,
// for as long as it takes. If the replica that waits for it dies, the note expires.
func TestAnAppendOnItsWayHoldsTheStreamOpen(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := startWithRuns(t, r)
		done := func(s *streaming.Service) bool {
			info, err := s.StreamInfo(t.Context(), itsStream, 0)
			require.NoError(t, err)
			return info.Done
		}
		b.endRun()
		b.clock.Add(time.Hour)
		require.True(t, b.done(t, itsStream))
		overs := []func(){b.ExpectAppend(itsStream), b.ExpectAppend(itsStream)}
		require.False(t, done(b.Service))
		b.awaitNote(t, r)
		require.False(t, done(b.other))
		overs[0]()
		overs[0]() // counts once
		readers := []*reading{read(t, b.Service, itsStream, 0), read(t, b.other, itsStream, 0)}
		live(t, b.Service, 1)
		live(t, b.other, 1)
		for range 4 {
			b.clock.Add(quietTime * 3 / 4)
			b.awaitNote(t, r)
			require.False(t, done(b.Service))
			require.False(t, done(b.other))
		}
		require.NoError(t, writeOne(t, b.Service, 0))
		b.clock.Add(time.Hour)
		require.False(t, done(b.Service), "another one is on its way")
		overs[1]()
		require.Eventually(t, func() bool { // a note may just be on its way
			b.clock.Add(quietTime)
			return done(b.Service) && done(b.other)
		}, longWait, time.Millisecond)
		for _, reading := range readers {
			require.NoError(t, reading.end(t))
			require.Equal(t, chunks(0, numbered(0, 1)...), reading.got())
		}
	})
}

// Only the other replica knows an append that has just begun. A replica that finds the stream over looks again before
// it says so, and by then such an append is stored or noted.
func TestAnEndWaitsForAppendsOfOtherReplicas(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	asks := map[string]func(t *testing.T, s *streaming.Service) bool{
		"info": func(t *testing.T, s *streaming.Service) bool {
			info, err := s.StreamInfo(t.Context(), itsStream, 0)
			require.NoError(t, err)
			return info.Done
		},
		"chunks": func(t *testing.T, s *streaming.Service) bool {
			page, err := s.ListChunks(t.Context(), itsStream, world.PageRequest{})
			require.NoError(t, err)
			return page.Done
		},
	}
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *r
			own.Prefix += name + ":"
			b := startWithRuns(t, &own)
			b.endRun()
			b.clock.Add(time.Hour)
			over := b.other.ExpectAppend(itsStream)
			b.onNextLook(func() { b.awaitNote(t, &own) })
			require.False(t, ask(t, b.Service), "the append lasts")
			over()
			b.clock.Add(time.Hour)

			over = b.other.ExpectAppend(itsStream)
			b.onNextLook(func() {
				require.NoError(t, writeOne(t, b.other, 0))
				over()
			})
			require.False(t, ask(t, b.Service), "a chunk came")
			b.clock.Add(time.Hour)

			over = b.other.ExpectAppend(itsStream)
			b.onNextLook(over)
			require.True(t, ask(t, b.Service), "the append brought nothing")
		})
	}
	t.Run("live readers", func(t *testing.T) {
		t.Parallel()
		own := *r
		own.Prefix += "live:"
		b := startWithRuns(t, &own)
		b.endRun()
		over, wrote := b.other.ExpectAppend(itsStream), make(chan error, 1)
		b.onNextLook(func() {
			wrote <- writeOne(t, b.other, 0)
			over()
		})
		waits := read(t, b.Service, itsStream, 0)
		live(t, b.Service, 1)
		b.clock.Add(quietTime)
		waits.has(t, 1)
		require.NoError(t, <-wrote)
		comes := read(t, b.Service, itsStream, 0)
		comes.has(t, 1)
		b.clock.Add(quietTime)
		for _, reading := range []*reading{waits, comes} {
			require.NoError(t, reading.end(t))
			require.Equal(t, chunks(0, numbered(0, 1)...), reading.got())
		}
	})
}
