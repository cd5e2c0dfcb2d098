package lane

import (
	"fmt"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

// Keys are the keys of one queue. All of them have the queue's hash tag, so that a script may use any of them.
// The comment of a key says what follows it.
type Keys struct {
	Task string // message id

	Pending, Paused, Active, Lease, Scheduled, Retry, Archived, Completed string
	Processed, Failed                                                     string // asynq's counters

	Idempotency, Request, WaitingForApp, Registrations, Bell, Waiting, Running, Parked, Delayed string

	OfRun       string // run: the set of its messages that are neither done nor dead
	Throttled   string // app
	CoolingDown string // run

	Interrupted, Suspect, Suspects string // app
}

// KeysOf returns the keys of a queue.
func KeysOf(prefix, name string) Keys {
	a := asynqbridge.KeysOf(name)
	own := prefix + "queue:{" + name + "}:"
	return Keys{
		Task: a.Task, Pending: a.Pending, Paused: a.Paused, Active: a.Active, Lease: a.Lease,
		Scheduled: a.Scheduled, Retry: a.Retry, Archived: a.Archived, Completed: a.Completed,
		Processed: a.Processed, Failed: a.Failed,
		Idempotency: own + "idempotency", Request: own + "request:", WaitingForApp: own + "stalled",
		Registrations: own + "wakes", Bell: own + "bell",
		Waiting: own + "waiting", Running: own + "running", Parked: own + "parked", Delayed: own + "delayed", OfRun: own + "of:",
		Throttled: own + "crowded:", CoolingDown: own + "resting:",
		Interrupted: own + "interrupted:", Suspect: own + "suspect:", Suspects: own + "suspects:",
	}
}

// ThrottledAt is the key of the messages that are set aside until an app has capacity.
func (k *Keys) ThrottledAt(app string) string { return k.Throttled + rediskey.Part(app) }

// SuspectsOf is the key of the suspects of an app that are set aside until it is their turn.
func (k *Keys) SuspectsOf(app string) string { return k.Suspects + rediskey.Part(app) }

// Score turns a timestamp into the score of a sorted set: seconds, as asynq has them, with milliseconds as decimals.
func Score(m world.Millis) string {
	return fmt.Sprintf("%d.%03d", m/1000, m%1000)
}

// DueScore is the score of a due time, or empty for now.
func DueScore(due world.Millis) string {
	if due == 0 {
		return ""
	}
	return Score(due)
}

func parseScore(s string) (world.Millis, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("score %q: %w", s, err)
	}
	return world.Millis(f*1000 + 0.5), nil
}
