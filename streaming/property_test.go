package streaming_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// To repeat the round of a failure: -property.seed=<its seed> -property.rounds=1. The scheduling of goroutines may
// still differ.
var (
	propertySeed   = flag.Uint64("property.seed", 0, "seed of the first round; 0 draws one")
	propertyRounds = flag.Int("property.rounds", 4, "rounds of random writers, readers and faults")
)

const propertyReaders = 24

// Doorbells get lost, and writers and readers write, repeat, read, disconnect, continue and close at any time: the
// stream contains exactly the accepted chunks, each once, at the index that its writer got, and every reader got
// exactly these from its start on.
func TestBytesReadAreBytesWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	seed := *propertySeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	killing, stop := context.WithCancel(context.Background())
	killer := redistest.Client(t, server.Addr)
	var kills sync.WaitGroup
	kills.Go(func() { killSubscriptions(killing, killer, rand.New(rand.NewPCG(seed, 0))) })
	t.Run("rounds", func(t *testing.T) { // returns when its parallel rounds have ended
		for i := range *propertyRounds {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				newRound(t, server, seed+uint64(i)).play()
			})
		}
	})
	stop()
	kills.Wait()
}

func killSubscriptions(ctx context.Context, client *redis.Client, random *rand.Rand) {
	for ctx.Err() == nil {
		client.ClientKillByFilter(ctx, "TYPE", "pubsub")
		pause(ctx, random, 300*time.Millisecond)
	}
}

// pause is a random time, at most so long.
func pause(ctx context.Context, random *rand.Rand, most time.Duration) {
	select {
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
	case <-ctx.Done():
	}
}

// round is one stream with its writers and readers, at two replicas that both lose doorbells.
type round struct {
	t        *testing.T
	seed     uint64
	ctx      context.Context
	replicas []*streaming.Service
	lost     atomic.Int64 // doorbells

	mu       sync.Mutex
	written  map[string]int   // accepted chunks by their text, and how often a writer got that answer
	answered map[int64]string // text by the index that a writer got
	results  []result
}

// result is what one reader got; least and most limit its start.
type result struct {
	start, least, most int64
	got                []world.Chunk
}

func newRound(t *testing.T, server *redistest.Server, seed uint64) *round {
	t.Helper()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	t.Cleanup(cancel)
	r := &round{t: t, seed: seed, ctx: ctx, written: map[string]int{}, answered: map[int64]string{}}
	for range 2 {
		addr := startProxy(t, server.Addr, func(fromRedis bool, data []byte) bool {
			if !fromRedis || !bytes.HasPrefix(data, []byte(">3\r\n$7\r\nmessage\r\n")) || rand.IntN(3) > 0 {
				return true
			}
			r.lost.Add(1)
			return false
		})
		r.replicas = append(r.replicas, start(t, redistest.Client(t, addr), fmt.Sprintf("p%d:", seed), func(c *streaming.Config) {
			c.AuditInterval, c.PageBytes = 30*time.Millisecond, 4096
		}))
	}
	return r
}

func (r *round) random(n uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, n)) }

func (r *round) replica(random *rand.Rand) *streaming.Service { return r.replicas[random.IntN(2)] }

func (r *round) play() {
	var readers, writers sync.WaitGroup
	for i := range uint64(propertyReaders) {
		readers.Go(func() { r.read(r.random(100 + i)) })
	}
	for i := range uint64(2) {
		writers.Go(func() { r.writeByRequest(r.random(200+i), fmt.Sprint("r", i)) })
		writers.Go(func() { r.writeByNumber(r.random(300+i), fmt.Sprint("n", i)) })
	}
	random := r.random(1)
	if random.IntN(2) == 0 { // the end comes while they write, or after
		pause(r.ctx, random, time.Second)
	} else {
		writers.Wait()
	}
	for range 2 {
		if err := r.replica(random).CloseStream(r.ctx, world.StreamClose{Name: "st", RunID: "wrun_1"}); err != nil {
			r.t.Errorf("close: %v", err)
		}
	}
	writers.Wait()
	readers.Wait()
	r.check()
}

func (r *round) check() {
	t := r.t
	stored := all(t, r.replicas[0], "st")
	count := int64(len(stored)) // require.Len would print all chunks
	require.Equal(t, int64(len(r.written)), count, "chunks stored")
	last := map[string]int{}
	for i, chunk := range stored {
		require.Equal(t, int64(i), chunk.Index)
		text, _, _ := bytes.Cut(chunk.Data, []byte(" "))
		require.Positive(t, r.written[string(text)], "%s was never accepted", text)
		var writer string
		var number int
		_, err := fmt.Sscanf(string(text), "%2s/%d", &writer, &number)
		require.NoError(t, err)
		require.Equal(t, last[writer], number, "the chunks of a writer keep their order")
		last[writer]++
		if answered, ok := r.answered[int64(i)]; ok {
			require.Equal(t, answered, string(text), "index %d", i)
		}
	}
	require.Len(t, r.results, propertyReaders)
	for _, one := range r.results {
		begin, got := min(one.start, count), int64(len(one.got))
		if one.start < 0 && got > 0 {
			begin = one.got[0].Index
			require.GreaterOrEqual(t, begin, one.least, "start %d", one.start)
			require.LessOrEqual(t, begin, one.most, "start %d", one.start)
		} else if one.start < 0 {
			begin = count
		}
		require.Equal(t, count-begin, got, "start %d", one.start)
		for i, chunk := range stored[begin:] {
			require.Equal(t, chunk.Index, one.got[i].Index)
			require.True(t, bytes.Equal(chunk.Data, one.got[i].Data), "index %d", chunk.Index)
		}
	}
	t.Logf("%d chunks, %d doorbells lost", count, r.lost.Load())
}
