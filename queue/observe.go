package queue

import (
	"time"

	"github.com/world-redis/world-redis"
)

// Observer is called with what the queue does in this process, for metrics. Its methods must be
// fast and safe for concurrent use.
type Observer interface {
	// Waited is called when a delivery begins. wait is how long the message has been pending.
	Waited(kind world.Kind, wait time.Duration)
	// Ended is called after a delivery with what becomes of the message: done, dead, failed, moved (the
	// app asked for a later delivery), stalled (there is no app), crowded (its app has no capacity),
	// apart (a suspect that waits for its turn), or returned (cut by the service).
	Ended(kind world.Kind, outcome string, took time.Duration)
	// Recovered is called when a message was put back because its worker is gone.
	Recovered(kind world.Kind)
}

type unobserved struct{}

func (unobserved) Waited(world.Kind, time.Duration)        {}
func (unobserved) Ended(world.Kind, string, time.Duration) {}
func (unobserved) Recovered(world.Kind)                    {}
