package idleconn

import "time"

// Kept and IdleTime are for the tests, which are of another package since redistest imports this one.
const (
	Kept     = kept
	IdleTime = idleTime
)

// Retire is what happens at each tick.
func (s *Set) Retire(now time.Time) { s.retire(now) }
