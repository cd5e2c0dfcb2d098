package queue

import (
	"time"

	"github.com/world-redis/world-redis"
)

// Observer hears of what the queue does in this process, for metrics. Its methods must be
// quick and safe for many callers.
type Observer interface {
	// Waited: a delivery begins; wait is how long the message has been ready for it.
	Waited(kind world.Kind, wait time.Duration)
	// Ended: a delivery is over, with what becomes of the message: done, dead, failed, moved (the
	// app asked for it later), stalled (the app could not be had), or returned (cut by ourselves).
	Ended(kind world.Kind, outcome string, took time.Duration)
	// Recovered: a message was taken from a worker that has gone.
	Recovered(kind world.Kind)
}

type unobserved struct{}

func (unobserved) Waited(world.Kind, time.Duration)        {}
func (unobserved) Ended(world.Kind, string, time.Duration) {}
func (unobserved) Recovered(world.Kind)                    {}
