package storage

import (
	flags "flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// A sequence of a failure comes again with -model.seed=<its seed> -model.sequences=1.
var (
	modelSequences = flags.Int("model.sequences", usualSequences, "how many random sequences of calls the model test makes")
	modelSeed      = flags.Uint64("model.seed", 0, "seed of the first sequence; 0 draws one")
)

// eachSequence runs the sequences on some workers, each with a database of its own.
func eachSequence(t *testing.T, firstDB, workers, sequences int, run func(t *testing.T, b *bundle, seed uint64)) {
	t.Helper()
	seed := *modelSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	for w := range min(workers, sequences) {
		t.Run(fmt.Sprintf("worker %d", w), func(t *testing.T) {
			t.Parallel()
			r := redistest.New(t)
			if firstDB < 0 {
				r = redistest.Embedded(t)
			} else {
				r.Client = database(t, r.Addr, firstDB+w)
			}
			b := modelBundle(t, r)
			for i := w; i < sequences && !t.Failed(); i += workers {
				require.NoError(t, r.Client.FlushDB(t.Context()).Err())
				b.streams.runs = nil
				run(t, b, seed+uint64(i))
			}
		})
	}
}

// modelBundle is a bundle whose store says which runs' streams it takes away.
func modelBundle(t *testing.T, r *redistest.Redis) *bundle {
	t.Helper()
	b, p := purgingBundle(t, r)
	b.streams = p
	return b
}

func database(t *testing.T, addr string, db int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, DB: db, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Random calls are answered as the model says, and leave what the model holds.
func TestModel(t *testing.T) {
	t.Parallel()
	direct := func(t *testing.T, b *bundle, seed uint64) {
		t.Helper()
		newSequence(t, b, b.Store, seed).run(func() {})
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		eachSequence(t, 1, 3, *modelSequences, direct)
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		eachSequence(t, -1, 1, max(1, *modelSequences/40), direct)
	})
}

// BR-06: the same when answers of Redis are lost now and then: go-redis sends the command again,
// and the caller sees no difference.
func TestModelLostReplies(t *testing.T) {
	t.Parallel()
	var once sync.Once
	var p *proxy
	var flaky *Store
	var armed, sequences int64
	eachSequence(t, 4, 1, max(1, *modelSequences/20), func(t *testing.T, b *bundle, seed uint64) {
		once.Do(func() {
			p = newProxy(t, b.redis.Addr)
			var err error
			flaky, err = New(t.Context(), database(t, p.Addr(), 4),
				Config{Prefix: b.redis.Prefix, Clock: b.clock, PurgeStreams: b.streams.purge})
			require.NoError(t, err)
			t.Cleanup(func() {
				t.Logf("%d replies were lost in %d sequences", p.swallows.Load(), sequences)
				require.GreaterOrEqual(t, p.swallows.Load(), 2*sequences, "replies lost in %d sequences; armed %d times", sequences, armed)
			})
		})
		sequences++
		s := newSequence(t, b, flaky, seed)
		s.run(func() {
			p.armed.Store(false)
			p.after.Store(s.rng.Int64N(3))
			if s.chance(30) {
				armed++
				p.armed.Store(true)
			}
		})
		p.armed.Store(false)
	})
	require.False(t, t.Failed())
}
