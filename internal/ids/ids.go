// Package ids generates and reads ULIDs with a prefix: wrun_, msg_, wevt_ and so on.
package ids

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
)

// Minter generates ULIDs that increase within the process, even within one millisecond and when the clock steps back.
type Minter struct {
	clock   world.Clock
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64
}

// NewMinter returns a minter that uses the given clock.
func NewMinter(clock world.Clock) *Minter {
	return &Minter{clock: clock, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// New returns a ULID without a prefix.
func (m *Minter) New() ulid.ULID { return m.At(m.clock.Now()) }

// At returns a ULID without a prefix for a time, or for that of the last ULID if that is later.
func (m *Minter) At(t time.Time) ulid.ULID {
	m.mu.Lock()
	defer m.mu.Unlock()
	ms := max(ulid.Timestamp(t), m.last)
	id, err := ulid.New(ms, m.entropy)
	if err != nil {
		// The random part of this millisecond is used up (or the system has no randomness, which Go treats as fatal):
		// use the next millisecond.
		ms++
		id = ulid.MustNew(ms, m.entropy)
	}
	m.last = ms
	return id
}

// Prefixed returns prefix and a new ULID, such as "msg_01J…".
func (m *Minter) Prefixed(prefix string) string { return prefix + m.New().String() }

// Time returns the milliseconds of an id of the form <prefix><ULID>; ok is false for any other text.
func Time(prefix, id string) (world.Millis, bool) {
	rest, found := strings.CutPrefix(id, prefix)
	if !found {
		return 0, false
	}
	u, err := ulid.ParseStrict(rest)
	if err != nil {
		return 0, false
	}
	return world.Millis(u.Time()), true //nolint:gosec // a ULID's time has 48 bits
}
