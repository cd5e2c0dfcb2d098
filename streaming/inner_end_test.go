package streaming_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// attempts is a step that writes to a stream and closes it, in several attempts, at two replicas.
type attempts struct {
	t        *testing.T
	replicas []*streaming.Service
	calls    int
}

func (a *attempts) on() *streaming.Service {
	a.calls++
	return a.replicas[a.calls%2]
}

func step(attempt int64) []world.StreamStep { return steps(attempt, "step_1") }

// steps is the same attempt of several steps, one of which makes a call; without any, the call comes from no step.
func steps(attempt int64, ids ...string) []world.StreamStep {
	list := make([]world.StreamStep, len(ids))
	for i, id := range ids {
		list[i] = world.StreamStep{ID: id, Attempt: attempt}
	}
	return list
}

func (a *attempts) write(by []world.StreamStep, texts ...string) (int64, error) {
	return a.on().AppendChunks(a.t.Context(), world.Append{Name: "st", RunID: "wrun_1", Chunks: raw(texts...), Steps: by})
}

func (a *attempts) writes(want int64, by []world.StreamStep, texts ...string) {
	a.t.Helper()
	first, err := a.write(by, texts...)
	require.NoError(a.t, err)
	require.Equal(a.t, want, first)
}

func (a *attempts) refused(by []world.StreamStep) {
	a.t.Helper()
	_, err := a.write(by, "refused")
	require.Equal(a.t, world.CodeStreamClosed, world.ErrorCode(err))
}

func (a *attempts) closes(by []world.StreamStep, requestID string) {
	a.t.Helper()
	require.NoError(a.t, a.on().CloseStream(a.t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1", RequestID: requestID, Steps: by}))
}

// finds requires what a reader gets from each start: the texts, and whether the stream has ended.
func (a *attempts) finds(want map[int64]string) {
	a.t.Helper()
	for from, text := range want {
		for _, on := range a.replicas {
			reading := read(a.t, on, "st", from)
			require.NoError(a.t, reading.end(a.t), "from %d", from)
			require.Equal(a.t, text, joined(reading.got()), "from %d", from)
			if from >= 0 {
				page, err := on.ListChunks(a.t.Context(), "st", world.PageRequest{Cursor: fmt.Sprint(from)})
				require.NoError(a.t, err)
				require.Equal(a.t, text, joined(page.Data), "from %d", from)
				require.True(a.t, page.Done && !page.HasMore, "from %d", from)
			}
		}
	}
}

func joined(list []world.Chunk) string {
	texts := make([]string, len(list))
	for i, chunk := range list {
		texts[i] = string(chunk.Data)
	}
	return strings.Join(texts, " ")
}

func (a *attempts) info(from int64) world.StreamInfo {
	a.t.Helper()
	info, err := a.on().StreamInfo(a.t.Context(), "st", from)
	require.NoError(a.t, err)
	return info
}

func startAttempts(t *testing.T, r *redistest.Redis) *attempts {
	t.Helper()
	return &attempts{t: t, replicas: []*streaming.Service{start(t, r.Client, r.Prefix), start(t, r.Client, r.Prefix)}}
}

// The first attempt writes, closes and fails; the second one writes again. Readers get what the SDK's local World
// returns for the same workflow (4.8.9 and 5.0.0-beta.55): the end of the first attempt has its own index, and a reader
// stops at the first end at or after its start.
func TestAStepThatClosedItsStreamRunsAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := startAttempts(t, r)
		early := []*reading{read(t, a.replicas[0], "st", 0), read(t, a.replicas[1], "st", 0)}
		a.writes(0, step(1), "a1")
		a.writes(1, step(1), "b1", "c1")
		a.closes(step(1), "close 1")
		for _, reading := range early {
			require.NoError(t, reading.end(t))
			require.Equal(t, "a1 b1 c1", joined(reading.got()))
		}
		require.Equal(t, world.StreamInfo{TailIndex: 2, Done: true, Count: 3}, a.info(0))
		a.refused(nil)
		a.refused(steps(7, "step_2"))

		a.writes(4, step(2), "a2")
		require.Equal(t, world.StreamInfo{TailIndex: 2, Done: true, Next: 4, Count: 5}, a.info(0))
		require.Equal(t, world.StreamInfo{TailIndex: 4, Count: 5}, a.info(4))
		a.closes(step(1), "close 1")      // a repeat
		a.closes(step(1), "another call") // late, of the attempt that is over
		behind := read(t, a.replicas[1], "st", 4)
		behind.has(t, 1)
		a.writes(5, steps(1, "step_2"), "b2") // the stream is open
		a.writes(6, step(2), "c2")
		a.closes(step(2), "close 2")
		require.NoError(t, behind.end(t))
		require.Equal(t, "a2 b2 c2", joined(behind.got()))
		a.finds(map[int64]string{
			0: "a1 b1 c1", 1: "b1 c1", 2: "c1", 3: "", 4: "a2 b2 c2", 6: "c2", 7: "", 50: "",
			-1: "c2", -2: "b2 c2", -3: "a2 b2 c2", -4: "", -5: "c1", -7: "a1 b1 c1", -50: "a1 b1 c1",
		})
		require.Equal(t, world.StreamInfo{TailIndex: 2, Done: true, Next: 4, Count: 7}, a.info(0))
		require.Equal(t, world.StreamInfo{TailIndex: 6, Done: true, Count: 7}, a.info(4))
		page, err := a.on().ListChunks(t.Context(), "st", world.PageRequest{Limit: 2, Cursor: "1"})
		require.NoError(t, err)
		require.Equal(t, world.ChunkPage{Page: world.Page[world.Chunk]{Data: chunks(1, "b1", "c1")}, Done: true, Next: 4}, page)
		a.refused(steps(2, "step_2"))

		// The same attempt in another execution, and one that only closes.
		a.writes(8, step(2), "a3")
		a.closes(step(2), "close 2") // a repeat
		a.writes(9, step(2), "b3")
		a.closes(step(2), "close 3")
		a.closes(step(3), "close 4")
		a.finds(map[int64]string{0: "a1 b1 c1", 4: "a2 b2 c2", 7: "", 8: "a3 b3", -1: "b3", -2: "a3 b3", -3: ""})

		require.NoError(t, a.on().PurgeRun(t.Context(), "wrun_1"))
		a.refused(step(4))
		requireEmptyAndEnded(t, a.on(), "st")
	})
}

// An attempt that is believed dead continues while a later one writes: its close does not end the part of the later
// one, and each ends its own part.
func TestTheCloseOfAnEarlierAttemptEndsNothing(t *testing.T) {
	t.Parallel()
	a := startAttempts(t, redistest.New(t))
	a.writes(0, step(1), "a1")
	a.writes(1, step(2), "a2")
	a.closes(step(1), "close 1")
	a.writes(2, step(2), "b2")
	require.False(t, a.info(0).Done)
	a.closes(step(2), "close 2")
	a.writes(4, step(1), "b1")
	a.closes(step(2), "close 2")
	a.writes(5, step(1), "c1")
	a.closes(step(1), "close 1 at last")
	a.finds(map[int64]string{0: "a1 a2 b2", 4: "b1 c1"})

	// No step may write after an end that no step recorded.
	a.writes(7, step(3), "a3")
	a.closes(nil, "somebody")
	a.refused(step(3))
	a.finds(map[int64]string{7: "a3"})
}

// Two steps hold one stream, and it is not known which of them writes. Either may write after the end, until one of
// them closes by itself. Other steps are refused as usual.
func TestOneOfSeveralStepsClosedTheStream(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := startAttempts(t, r)
		both := steps(1, "step_1", "step_2")
		a.writes(0, both, "a1")
		a.writes(1, nil, "b1")
		a.closes(both, "close 1")
		a.refused(nil)
		a.refused(steps(1, "step_3"))
		a.refused(steps(1, "step_3", "step_4"))

		a.writes(3, steps(2, "step_2", "step_3"), "a2") // so it is step 2
		a.closes(steps(2, "step_2"), "close 2")
		a.refused(steps(3, "step_1", "step_3"))
		a.writes(5, steps(3, "step_2", "step_1"), "a3")
		a.closes(steps(1, "step_2"), "close 3") // late, and of this step only
		require.False(t, a.info(5).Done)
		a.closes(steps(3, "step_2"), "close 4")
		a.finds(map[int64]string{0: "a1 b1", 3: "a2", 5: "a3"})

		// Only writes, and a late close of each step that may have made them.
		own := *r
		own.Prefix += "late:"
		late := startAttempts(t, &own)
		late.writes(0, steps(2, "step_1", "step_2"), "x")
		late.closes(both, "close 5")
		require.False(t, late.info(0).Done)
		late.closes(steps(1, "step_1", "step_3"), "close 6")
		require.True(t, late.info(0).Done)
	})
}

// A call whose answer was lost gets the first answer, also with ends in between, and a writer that numbers its chunks
// keeps its numbering after an end.
func TestRepeatsAcrossEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := startAttempts(t, r)
		requested := world.Append{Chunks: raw("a", "b"), RequestID: "r", Steps: step(1)}
		numberedCall := world.Append{Chunks: raw("c", "d"), WriterID: "w", Steps: step(1)}
		more := world.Append{Chunks: raw("d", "e", "f"), WriterID: "w", Sequence: 1, Steps: step(1)}
		again := func() {
			t.Helper()
			require.Equal(t, int64(0), put(t, a.on(), requested))
		}
		again()
		require.Equal(t, int64(2), put(t, a.on(), numberedCall))
		a.closes(step(1), "close 1")
		again()
		require.Equal(t, int64(2), put(t, a.on(), numberedCall))
		require.Equal(t, int64(3), put(t, a.on(), more)) // the place of d, which was stored before
		again()
		require.Equal(t, int64(5), put(t, a.on(), world.Append{Chunks: raw("e", "f"), WriterID: "w", Sequence: 2, Steps: step(1)}))
		a.closes(step(1), "close 2")
		again()
		_, err := a.on().AppendChunks(t.Context(), world.Append{Name: "st", RunID: "wrun_1", WriterID: "w", Sequence: 9, Chunks: raw("x"), Steps: step(1)})
		require.Equal(t, world.CodeConflict, world.ErrorCode(err))
		a.finds(map[int64]string{0: "a b c d", 4: "", 5: "e f"})
	})
}

// Large units are stored without the script after an end, too, once the script has stored the first write there; their
// pages are read without it.
func TestLargeUnitsBehindAnEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s, other := start(t, r.Client, r.Prefix), start(t, r.Client, r.Prefix)
		unit := func(attempt int64, want int64, from int) {
			t.Helper()
			require.Equal(t, want, put(t, s, world.Append{Chunks: largeUnit(from, 3), Steps: step(attempt)}))
		}
		shut := func(attempt int64) {
			require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "st", RunID: "wrun_1", Steps: step(attempt)}))
		}
		unit(1, 0, 0)
		unit(1, 3, 3)
		shut(1)
		live := read(t, other, "st", 5)
		require.NoError(t, live.end(t))
		unit(2, 7, 10)
		unit(2, 10, 13)
		shut(2)
		unit(3, 14, 20)
		shut(3)
		for _, part := range []struct{ from, count, begins int }{{0, 6, 0}, {2, 4, 2}, {7, 6, 10}, {9, 4, 12}, {14, 3, 20}, {6, 0, 0}, {13, 0, 0}} {
			for _, on := range []*streaming.Service{s, other} {
				reading := read(t, on, "st", int64(part.from))
				require.NoError(t, reading.end(t))
				require.Len(t, reading.got(), part.count, "from %d", part.from)
				for i, chunk := range reading.got() {
					require.Equal(t, int64(part.from+i), chunk.Index)
					require.Equal(t, byte(part.begins+i), chunk.Data[0])
				}
			}
		}
		require.Empty(t, keys(t, r, "stream_open:*"))
	})
}

// Writes and closes of a step in any order, small and large, at either replica: from each start a reader gets the
// records up to the first end at or after it. To repeat a failure, use -property.seed=<its seed>.
func TestReadersEndAtTheFirstEndBehindTheirStart(t *testing.T) {
	t.Parallel()
	seed := *propertySeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	a := startAttempts(t, redistest.New(t))
	const end = "an end"
	var records []string // with the last end, if the stream is closed
	closed := func() bool { return len(records) > 0 && records[len(records)-1] == end }
	for range 60 {
		if random.IntN(3) == 0 {
			id := fmt.Sprint(len(records))
			for range 1 + random.IntN(2) {
				a.closes(step(1), id)
			}
			if !closed() {
				records = append(records, end)
			}
			continue
		}
		texts := make([]string, 1+random.IntN(4))
		size := []int{1, 1, 5000, 100_000}[random.IntN(4)]
		for i := range texts {
			texts[i] = fmt.Sprint(len(records)+i, strings.Repeat(" ", size))
		}
		a.writes(int64(len(records)), step(1), texts...)
		records = append(records, texts...)
	}
	count := len(records)
	if closed() {
		count--
	}
	for from := range len(records) + 2 {
		last := from // of what is found
		for last < count && records[last] != end {
			last++
		}
		begin := min(from, count)
		found := records[begin:max(begin, min(last, count))]
		info := a.info(int64(from))
		require.Equal(t, int64(count), info.Count)
		require.Equal(t, last < count || closed(), info.Done, "from %d", from)
		if last < count {
			require.Equal(t, int64(last+1), info.Next)
		}
		page, err := a.on().ListChunks(t.Context(), "st", world.PageRequest{Cursor: fmt.Sprint(from), Limit: 1000})
		require.NoError(t, err)
		require.Equal(t, strings.Join(found, " "), joined(page.Data), "from %d", from)
		if info.Done {
			reading := read(t, a.on(), "st", int64(from))
			require.NoError(t, reading.end(t))
			require.Equal(t, strings.Join(found, " "), joined(reading.got()), "from %d", from)
		}
	}
}

// The number of ends is limited: after that the stream is closed for good. The last one is read as fast as any.
func TestInnerEndsAreBounded(t *testing.T) {
	t.Parallel()
	a := startAttempts(t, redistest.New(t))
	const most = 1000
	for i := range int64(most + 1) {
		a.writes(2*i, step(i+1), "x")
		a.closes(step(i+1), "")
	}
	a.refused(step(most + 2))
	require.Equal(t, world.StreamInfo{TailIndex: 2 * most, Done: true, Count: 2*most + 1}, a.info(2*most))
	a.finds(map[int64]string{0: "x", 2*most - 1: "", 2 * most: "x", -1: "x"})
}

// An end that an earlier build recorded has another form, and no step may write after it. A purge by such a replica
// keeps the fields that it does not know.
func TestEndsOfEarlierBuilds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		a := startAttempts(t, r)
		stream, meta := r.Prefix+"stream:{st}", r.Prefix+"stream_meta:{st}"
		a.writes(0, nil, "a")
		require.NoError(t, r.Client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, ID: "2-0", Values: []string{"e", "1"}}).Err())
		require.NoError(t, r.Client.HSet(t.Context(), meta, "n", "1", "eof", "1").Err())
		a.refused(step(1))
		a.finds(map[int64]string{0: "a", -1: "a"})

		require.NoError(t, r.Client.HSet(t.Context(), meta, "by", "c 1 step_1").Err())
		a.writes(2, step(2), "b")
		a.closes(step(2), "")
		a.finds(map[int64]string{0: "a", 2: "b"})

		require.NoError(t, r.Client.HSet(t.Context(), meta, "n", "0", "mx", "0", "eof", "1").Err())
		require.NoError(t, r.Client.Unlink(t.Context(), stream).Err())
		a.refused(step(3))
		requireEmptyAndEnded(t, a.on(), "st")
		require.NoError(t, a.on().PurgeRun(t.Context(), "wrun_1"))
		require.Empty(t, r.Client.HMGet(t.Context(), meta, "by", "ie").Val()[0])
		requireEmptyAndEnded(t, a.on(), "st")
	})
}

// An end between chunks has the form of an empty chunk: a replica that does not know such ends reads it as one.
func TestAnEndLooksLikeAnEmptyChunk(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	a := startAttempts(t, r)
	a.writes(0, step(1), "a")
	a.closes(step(1), "")
	a.writes(2, step(2), "b")
	rows := r.Client.XRange(t.Context(), r.Prefix+"stream:{st}", "-", "+").Val()
	require.Len(t, rows, 3)
	require.Equal(t, redis.XMessage{ID: "2-0", Values: map[string]any{"d": "", "e": "1"}}, rows[1])
	state := r.Client.HMGet(t.Context(), r.Prefix+"stream_meta:{st}", "n", "eof").Val()
	require.Equal(t, []any{"3", nil}, state)
}

// The streams of the SDK's health checks expire after an hour, with all their keys.
func TestHealthChecksLeaveNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		s := start(t, r.Client, r.Prefix)
		for _, name := range []string{"__health_check__1", "__health_check__2"} {
			_, err := s.AppendChunks(t.Context(), world.Append{Name: name, RunID: "wrun_hc_1", Chunks: raw("{}")})
			require.NoError(t, err)
		}
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "__health_check__1", RunID: "wrun_hc_1"}))
		require.NoError(t, s.CloseStream(t.Context(), world.StreamClose{Name: "__health_check__3", RunID: "wrun_hc_1"}))
		require.Equal(t, chunks(0, "{}"), all(t, s, "__health_check__1"))
		left := keys(t, r, "*")
		require.Len(t, left, 8)
		for _, key := range left {
			ttl, err := r.Client.TTL(t.Context(), key).Result()
			require.NoError(t, err)
			require.Greater(t, ttl, time.Duration(0), key)
			require.LessOrEqual(t, ttl, time.Hour, key)
		}
	})
}

// Reads of the streams of a run that does not exist are refused once its id is a minute old, and readers that still
// wait then are cut. Writes are not refused, and neither are reads of streams that belong to no run.
func TestStreamsOfARunThatDoesNotExist(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := startWithRuns(t, r)
		minted, _ := ids.Time("wrun_", endedRun)
		b.clock.Set(minted.Time().Add(59 * time.Second))
		b.runs.end(endedRun, world.RunEnd{Missing: true})
		b.runs.end("wrun_hc_x", world.RunEnd{Missing: true})
		b.write(t, itsStream)
		early := []*reading{read(t, b.Service, itsStream, 0), read(t, b.other, itsStream, 5)}
		elsewhere := []*reading{read(t, b.Service, ofNobody, 0), read(t, b.other, passedOn, 0)}
		early[0].has(t, 1)
		require.False(t, b.done(t, itsStream))
		_, err := listNames(t.Context(), b.Service, endedRun)
		require.NoError(t, err)

		b.clock.Add(time.Second)
		for _, reading := range early {
			require.Equal(t, world.CodeRunNotFound, world.ErrorCode(reading.end(t)))
		}
		refused := func() {
			t.Helper()
			for _, on := range []*streaming.Service{b.Service, b.other} {
				_, err := on.StreamInfo(t.Context(), itsStream, 0)
				require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
				_, err = on.ListChunks(t.Context(), itsStream, world.PageRequest{})
				require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
				_, err = listNames(t.Context(), on, endedRun)
				require.Equal(t, world.CodeRunNotFound, world.ErrorCode(err))
				for _, from := range []int64{0, -1} {
					require.Equal(t, world.CodeRunNotFound, world.ErrorCode(read(t, on, itsStream, from).end(t)))
				}
			}
		}
		refused()
		b.write(t, itsStream)
		require.NoError(t, b.CloseStream(t.Context(), world.StreamClose{Name: itsStream, RunID: endedRun}))
		refused()
		require.False(t, b.done(t, ofNobody))
		require.False(t, b.done(t, passedOn))
		_, err = listNames(t.Context(), b.Service, "wrun_hc_x")
		require.NoError(t, err)
		b.runs.end(endedRun, world.RunEnd{}) // it is there after all
		require.True(t, b.done(t, itsStream))
		for _, reading := range elsewhere {
			require.Empty(t, reading.got())
			require.Empty(t, reading.ended)
		}
	})
}
