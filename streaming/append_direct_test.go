package streaming_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// largeUnit is n different chunks, one of them empty, which are together large enough to be stored without the script.
func largeUnit(from, count int) [][]byte {
	list := make([][]byte, count)
	for i := range list {
		list[i] = bytes.Repeat([]byte{byte(from + i)}, 100_000+from+i)
	}
	if count > 6 {
		list[5] = []byte{}
	}
	return list
}

// countingProxy counts the chunks that are sent without the script.
func countingProxy(t *testing.T, r *redistest.Redis) (addr string, direct *atomic.Int64) {
	t.Helper()
	direct = &atomic.Int64{}
	addr = startProxy(t, r.Addr, func(fromRedis bool, data []byte) bool {
		if !fromRedis {
			direct.Add(int64(bytes.Count(data, []byte("nomkstream\r\n"))))
		}
		return true
	})
	return addr, direct
}

func put(t *testing.T, s *streaming.Service, a world.Append) int64 {
	t.Helper()
	a.Name, a.RunID = "st", "wrun_1"
	first, err := s.AppendChunks(t.Context(), a)
	require.NoError(t, err)
	return first
}

// storedAs requires that the stream has these chunks and no others, that its records equal those of the script, and
// that nothing of a transaction is left.
func storedAs(t *testing.T, r *redistest.Redis, s *streaming.Service, want [][]byte) {
	t.Helper()
	got := all(t, s, "st")
	require.Len(t, got, len(want))
	for i, chunk := range got {
		require.Equal(t, int64(i), chunk.Index)
		require.True(t, bytes.Equal(want[i], chunk.Data), "chunk %d", i)
	}
	records, err := r.Client.XRange(t.Context(), r.Prefix+"stream:{st}", "-", "+").Result()
	require.NoError(t, err)
	ids := map[string]bool{}
	for i, record := range records {
		require.Equal(t, fmt.Sprint(i+1, "-0"), record.ID)
		if i < len(want) {
			require.Len(t, record.Values, 2)
			ids[record.Values["u"].(string)] = true
		}
	}
	require.Len(t, ids, len(want), "each chunk has an id of its own")
	require.Empty(t, keys(t, r, "stream_open:*"))
}

// Units of large chunks are stored without the script once the end of the stream is known, among small ones and those
// of another replica. The result is the same as by the script, and so is what readers get.
func TestLargeUnitsAreStoredPastTheScriptAsByIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s, other := start(t, r.Client, r.Prefix, neverAudit), start(t, r.Client, r.Prefix, neverAudit)
		reader := read(t, other, "st", 0)
		var want [][]byte
		add := func(s *streaming.Service, a world.Append) {
			require.Equal(t, int64(len(want)), put(t, s, a))
			want = append(want, a.Chunks...)
		}
		add(s, world.Append{Chunks: largeUnit(0, 3)})
		add(s, world.Append{Chunks: largeUnit(3, 8)})
		add(s, world.Append{Chunks: raw("small")})
		add(s, world.Append{Chunks: largeUnit(12, 3), WriterID: "w", Sequence: 4})
		add(other, world.Append{Chunks: largeUnit(15, 3)})
		add(s, world.Append{Chunks: largeUnit(18, 3)}) // not where it expects the end
		add(s, world.Append{Chunks: largeUnit(21, 3), WriterID: "w", Sequence: 7})
		storedAs(t, r, s, want)
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		require.NoError(t, reader.end(t))
		require.Len(t, reader.got(), len(want))
		for i, chunk := range reader.got() {
			require.True(t, bytes.Equal(want[i], chunk.Data), "chunk %d", i)
		}
	})
}

// A single writer's large chunks are sent once, without the script. If another replica writes to the stream, too, one
// unit is sent in vain, and the script then stores the units.
func TestLargeUnitsAreSentForNothingOnce(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	addr, direct := countingProxy(t, r)
	s, other := start(t, redistest.Client(t, addr), r.Prefix), start(t, r.Client, r.Prefix)
	for i := range 5 {
		put(t, s, world.Append{Chunks: largeUnit(3*i, 3)})
	}
	require.Equal(t, int64(4*3), direct.Load(), "all but the first unit")
	put(t, s, world.Append{Chunks: raw("small")})
	put(t, s, world.Append{Chunks: largeUnit(0, 2)}) // less than a large unit
	require.Equal(t, int64(4*3), direct.Load())
	for i := range 5 {
		put(t, other, world.Append{Chunks: raw("theirs")})
		require.Equal(t, int64(19+4*i), put(t, s, world.Append{Chunks: largeUnit(0, 3)}))
	}
	require.Equal(t, int64(5*3), direct.Load(), "the first unit after theirs")
}

// A unit that the script would refuse, or has stored before, gets the same answer without the script, and adds nothing.
func TestLargeUnitsAreRefusedAndRepeatedAsByTheScript(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.MaxChunks = 16 })
		want := append(append(largeUnit(0, 3), largeUnit(3, 3)...), largeUnit(6, 3)...)
		put(t, s, world.Append{Chunks: want[:3]})
		requested := world.Append{Chunks: want[3:6], RequestID: "once"}
		numbered := world.Append{Chunks: want[6:9], WriterID: "w", Sequence: 10}
		for range 3 {
			require.Equal(t, int64(3), put(t, s, requested))
		}
		for range 3 {
			require.Equal(t, int64(6), put(t, s, numbered))
		}
		overlap := world.Append{Chunks: append(want[7:9:9], largeUnit(9, 3)...), WriterID: "w", Sequence: 11}
		require.Equal(t, int64(7), put(t, s, overlap))
		want = append(want, overlap.Chunks[2:]...)

		fresh := func() *streaming.Service { // one that knows the end again
			s := start(t, r.Client, r.Prefix, func(c *streaming.Config) { c.MaxChunks = 16 })
			want = append(want, []byte("small"))
			put(t, s, world.Append{Chunks: want[len(want)-1:]})
			return s
		}
		refused := func(s *streaming.Service, code world.Code, a world.Append) {
			t.Helper()
			a.Name, a.RunID, a.Chunks = "st", "wrun_1", largeUnit(50, 3)
			_, err := s.AppendChunks(t.Context(), a)
			require.Equal(t, code, world.ErrorCode(err))
		}
		s = fresh()
		refused(s, world.CodeConflict, world.Append{WriterID: "w", Sequence: 20})
		storedAs(t, r, s, want)
		s = fresh()
		want = append(want, largeUnit(9, 1)...)
		put(t, s, world.Append{Chunks: want[14:15]})
		refused(s, world.CodeTooLarge, world.Append{})
		storedAs(t, r, s, want)
		require.NoError(t, start(t, r.Client, r.Prefix).CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1"}))
		refused(s, world.CodeStreamClosed, world.Append{})
		require.Equal(t, int64(3), put(t, s, requested))
		require.Equal(t, int64(6), put(t, s, numbered))
		storedAs(t, r, s, want)

		require.NoError(t, s.PurgeRun(t.Context(), "wrun_1"))
		refused(s, world.CodeStreamClosed, world.Append{})
		requireEmptyAndEnded(t, s, "st")
		require.Empty(t, keys(t, r, "stream_open:*"))
	})
}

// The answer to a transaction is lost, or Redis has forgotten the script: the unit is sent again with the script, and
// is stored once.
func TestALargeUnitWhoseAnswerIsLostIsStoredOnce(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	var lost atomic.Int64
	var armed, losing atomic.Bool
	addr := startProxy(t, r.Addr, func(fromRedis bool, data []byte) bool {
		if fromRedis {
			return !losing.Load()
		}
		// The client receives nothing until it gives up and sends another command.
		losing.Store(bytes.HasSuffix(data, []byte("exec\r\n")) && armed.Swap(false))
		if losing.Load() {
			lost.Add(1)
		}
		return true
	})
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: time.Second})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	s := start(t, client, r.Prefix)
	var want [][]byte
	for i, a := range []world.Append{{}, {}, {WriterID: "w", Sequence: 8}} {
		a.Chunks = largeUnit(3*i, 3)
		armed.Store(i > 0)
		if i == 2 { // for the loss has left the stream to the script
			s = start(t, client, r.Prefix)
			want = append(want, []byte("small"))
			put(t, s, world.Append{Chunks: raw("small")})
		}
		require.Equal(t, int64(len(want)), put(t, s, a))
		want = append(want, a.Chunks...)
		require.Equal(t, int64(i), lost.Load())
	}
	s = start(t, client, r.Prefix)
	want = append(append(want, []byte("small")), largeUnit(0, 3)...)
	put(t, s, world.Append{Chunks: raw("small")})
	require.NoError(t, r.Client.ScriptFlush(t.Context()).Err())
	put(t, s, world.Append{Chunks: largeUnit(0, 3)})
	storedAs(t, r, s, want)
}

// A stream in which Redis has lost a record, or has one too many: it is never left under its second name, and a unit
// that cannot be stored is an error.
func TestALargeUnitOnADamagedStream(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	stream := r.Prefix + "stream:{st}"
	s := start(t, r.Client, r.Prefix)
	put(t, s, world.Append{Chunks: raw("a", "b", "c")})
	require.NoError(t, r.Client.XDel(t.Context(), stream, "2-0").Err())
	require.Equal(t, int64(3), put(t, s, world.Append{Chunks: largeUnit(0, 3)}))
	require.Equal(t, int64(5), r.Client.XLen(t.Context(), stream).Val())

	s = start(t, r.Client, r.Prefix)
	put(t, s, world.Append{Chunks: raw("d")})
	require.NoError(t, r.Client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, ID: "9-0", Values: []string{"d", "stray"}}).Err())
	_, err := s.AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: largeUnit(0, 3)})
	require.Equal(t, world.CodeInternal, world.ErrorCode(err))
	require.Equal(t, "7", r.Client.HGet(t.Context(), r.Prefix+"stream_meta:{st}", "n").Val())
	require.Empty(t, keys(t, r, "stream_open:*"))
	require.Equal(t, int64(1), r.Client.Exists(t.Context(), stream).Val())
}

// Two writers of large units at each of two replicas, concurrently: no index is used twice or skipped, and each
// writer's chunks are in its order.
func TestWritersOfLargeUnitsAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		replicas := []*streaming.Service{start(t, r.Client, r.Prefix), start(t, r.Client, r.Prefix)}
		put(t, replicas[0], world.Append{Chunks: raw("0 0")})
		put(t, replicas[1], world.Append{Chunks: raw("0 1")})
		const writers, calls = 4, 3
		answered := make([][]int64, writers+1)
		var group errgroup.Group
		for w := 1; w <= writers; w++ {
			group.Go(func() error {
				for call := range calls {
					a := world.Append{Name: "st", RunID: "wrun_1", RequestID: fmt.Sprint(w, call)}
					for i := range 3 {
						a.Chunks = append(a.Chunks, fmt.Appendf(nil, "%d %d %s", w, 3*call+i, strings.Repeat("x", 90_000)))
					}
					first, err := replicas[w%2].AppendChunks(t.Context(), a)
					if err != nil {
						return err
					}
					answered[w] = append(answered[w], first, first+1, first+2)
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
		got := all(t, replicas[0], "st")
		require.Len(t, got, 2+writers*calls*3)
		next := make([]int, writers+1)
		for i, chunk := range got {
			var w, number int
			_, err := fmt.Sscanf(string(chunk.Data[:min(len(chunk.Data), 10)]), "%d %d", &w, &number)
			require.NoError(t, err)
			require.Equal(t, next[w], number)
			next[w]++
			if w > 0 {
				require.Equal(t, answered[w][number], int64(i))
			}
		}
		require.Empty(t, keys(t, r, "stream_open:*"))
	})
}
