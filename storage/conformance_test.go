package storage

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage/storagetest"
)

// The store keeps the contract on each kind of Redis, with two replicas.
func TestConformance(t *testing.T) {
	t.Parallel()
	for kind, start := range map[string]func(testing.TB) *redistest.Redis{
		"redis": redistest.New, "embedded": redistest.Embedded, "cluster": redistest.NewCluster,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, func(t *testing.T) *storagetest.Subject {
				t.Helper()
				r := start(t)
				b, streams := purgingBundle(t, r)
				other, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: b.clock, PurgeStreams: streams.purge})
				require.NoError(t, err)
				b.others = []*Store{other}
				s := b.subject()
				s.Replica, s.Purged = other, func() []string { return streams.runs }
				return s
			})
		})
	}
}

// The model test of storagetest at its full length: a database for each worker.
func TestModel(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		var used atomic.Int64 // databases
		storagetest.Sequences(t, 3, storagetest.Share(1), func(t *testing.T) *storagetest.Subject {
			r := redistest.New(t)
			r.Client = database(t, r.Addr, int(used.Add(1)))
			s, _ := modelSubject(t, r)
			return s
		})
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		storagetest.Sequences(t, 1, storagetest.Share(40), func(t *testing.T) *storagetest.Subject {
			s, _ := modelSubject(t, redistest.Embedded(t))
			return s
		})
	})
}

// Under the race detector.
func TestModelManyCallers(t *testing.T) {
	t.Parallel()
	storagetest.Callers(t, storagetest.Share(20), func(t *testing.T) *storagetest.Subject {
		t.Helper()
		r := redistest.New(t)
		r.Client = database(t, r.Addr, 5)
		s, _ := modelSubject(t, r)
		other, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: s.Clock})
		require.NoError(t, err)
		s.Replica = other
		return s
	})
}

// BR-06: the model test, with some answers of Redis lost: go-redis sends the command again, and the caller notices no
// difference.
func TestModelLostReplies(t *testing.T) {
	t.Parallel()
	var p *proxy
	var armed, sequences int64
	storagetest.Sequences(t, 1, storagetest.Share(20), func(t *testing.T) *storagetest.Subject {
		r := redistest.New(t)
		p = newProxy(t, r.Addr)
		r.Client = database(t, r.Addr, 4)
		s, streams := modelSubject(t, r)
		flaky, err := New(t.Context(), database(t, p.Addr(), 4), Config{Prefix: r.Prefix, Clock: s.Clock, PurgeStreams: streams.purge})
		require.NoError(t, err)
		s.Through = flaky
		s.BeforeCall = func(rng *rand.Rand) {
			p.armed.Store(false)
			p.after.Store(rng.Int64N(3))
			if rng.IntN(100) < 30 {
				armed++
				p.armed.Store(true)
			}
		}
		s.AfterCalls = func() { p.armed.Store(false); sequences++ }
		return s
	})
	t.Cleanup(func() {
		t.Logf("%d replies were lost in %d sequences", p.swallows.Load(), sequences)
		require.GreaterOrEqual(t, p.swallows.Load(), 2*sequences, "replies lost in %d sequences; armed %d times", sequences, armed)
	})
}

// modelSubject is a store with its own database, and a record of its calls about streams.
func modelSubject(t *testing.T, r *redistest.Redis) (*storagetest.Subject, *purges) {
	t.Helper()
	b, p := purgingBundle(t, r)
	s := b.subject()
	s.Purged = func() []string { return p.runs }
	s.Reset = func(t testing.TB) {
		t.Helper()
		require.NoError(t, r.Client.(*redis.Client).FlushDB(t.Context()).Err())
		p.runs = nil
	}
	return s, p
}

func database(t *testing.T, addr string, db int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, DB: db, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
