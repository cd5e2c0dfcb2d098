// Package memory counts the bytes that calls hold: bodies as they arrive, values read for answers, and answers until they are
// written.
package memory

import (
	"time"

	"github.com/world-redis/world-redis/internal/budget"
)

// Share is the memory of the calls of a namespace, or the part of it that one call socket may use.
type Share struct {
	*budget.Pool

	// Patience is how long a call waits for memory before it is refused.
	Patience time.Duration
	live     liveRoom
}

// New returns the memory of a namespace.
func New(p *budget.Pool) *Share {
	return &Share{Pool: p, Patience: roomPatience, live: newLiveRoom(p)}
}

// OfSocket returns the part of one socket: the memory divided by parts. Live reads do not come over sockets, so theirs is not divided.
func (s *Share) OfSocket(parts int64) *Share {
	return &Share{Pool: s.Part(s.Limit() / parts), Patience: s.Patience, live: s.live}
}
