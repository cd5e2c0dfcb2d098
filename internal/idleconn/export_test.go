package idleconn

import "time"

// Kept and IdleTime are exported for the tests, which are in another package because redistest imports this one.
const (
	Kept     = kept
	IdleTime = idleTime
)

// Retire is what happens at each tick.
func (s *Set) Retire(now time.Time) { s.retire(now) }
