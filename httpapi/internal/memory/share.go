// Package memory counts what calls hold: bodies as they arrive, what is read for their answers, and the answers until they are
// written.
package memory

import (
	"time"

	"github.com/world-redis/world-redis/internal/budget"
)

// Share is memory that calls take from: that of a namespace, or the part of it that one call socket may use.
type Share struct {
	*budget.Pool

	// Patience is how long a call waits for room before it is refused.
	Patience time.Duration
	live     liveRoom
}

// New returns the memory of a namespace.
func New(p *budget.Pool) *Share {
	return &Share{Pool: p, Patience: roomPatience, live: newLiveRoom(p)}
}

// OfSocket returns one part in so many, for the messages of one socket. Live reads do not come over sockets, so theirs is not parted.
func (s *Share) OfSocket(parts int64) *Share {
	return &Share{Pool: s.Part(s.Limit() / parts), Patience: s.Patience, live: s.live}
}
