package storagetest

import (
	"math/rand/v2"
	"testing"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// Subject is a store under test, and what the tests need besides its calls. Only Store and Clock are required.
type Subject struct {
	Store world.Store
	// Clock is the store's clock. The tests move it.
	Clock *worldtest.Clock
	// Through makes the calls of a random sequence instead of Store: on the same data, but for example over a connection that
	// loses answers.
	Through world.Store
	// Replica is another process on the same data.
	Replica world.Store
	// Upkeep does what the store would do in the background by now, for example release the tokens of hooks that have lapsed.
	Upkeep func(t testing.TB)
	// Check requires what must hold for runs in the store's own data. The runs exist.
	Check func(t testing.TB, runIDs ...string)
	// Purged returns the runs whose streams the store has had removed.
	Purged func() []string
	// Reset empties the store between two random sequences. Without it each gets a new one.
	Reset func(t testing.TB)
	// BeforeCall is called before each call of a random sequence: a place to make trouble.
	BeforeCall func(rng *rand.Rand)
	// AfterCalls is called when a sequence has made its calls and is going to look at what they left.
	AfterCalls func()
}

func (s *Subject) through() world.Store {
	if s.Through != nil {
		return s.Through
	}
	return s.Store
}

// on returns the caller of a test, for runs of a spec version.
func (s *Subject) on(t testing.TB, spec int) *Caller {
	t.Helper()
	return &Caller{Store: s.Store, T: t, Ctx: t.Context(), Clock: s.Clock, Spec: spec}
}

func (s *Subject) upkeep(t testing.TB) {
	t.Helper()
	if s.Upkeep != nil {
		s.Upkeep(t)
	}
}

// checkOwn is the subject's own check.
func (s *Subject) checkOwn(t testing.TB, runIDs ...string) {
	t.Helper()
	if s.Check != nil {
		s.Check(t, runIDs...)
	}
}

// check requires that the log and the entities of runs agree, and what the subject itself requires of them.
func (s *Subject) check(c *Caller, runIDs ...string) {
	c.T.Helper()
	c.Check(runIDs...)
	s.checkOwn(c.T, runIDs...)
}

// Run tests a store. open returns an empty store; several may be in use at once.
func Run(t *testing.T, open func(t *testing.T) *Subject) {
	t.Run("states", func(t *testing.T) { t.Parallel(); States(t, open(t)) })
	t.Run("repeats", func(t *testing.T) { t.Parallel(); Repeats(t, open(t)) })
	t.Run("sequences", func(t *testing.T) { t.Parallel(); Sequences(t, 1, Share(100), open) })
	t.Run("callers", func(t *testing.T) { t.Parallel(); Callers(t, Share(100), open) })
}
