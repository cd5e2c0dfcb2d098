package asynqbridge

import "time"

// Keys are asynq's keys of one queue.
type Keys struct {
	prefix                                                                string
	Task                                                                  string // + the message id
	Pending, Paused, Active, Lease, Scheduled, Retry, Archived, Completed string
	Processed, Failed                                                     string // counters; those of a day: see [Day]
}

// KeysOf returns the keys of a queue.
func KeysOf(queue string) Keys {
	p := "asynq:{" + queue + "}:"
	return Keys{
		prefix: p, Task: p + "t:",
		Pending: p + "pending", Paused: p + "paused", Active: p + "active", Lease: p + "lease",
		Scheduled: p + "scheduled", Retry: p + "retry", Archived: p + "archived", Completed: p + "completed",
		Processed: p + "processed", Failed: p + "failed",
	}
}

// statsTTL is how long asynq keeps the counters of a day.
const statsTTL = 90 * 24 * time.Hour

// Day returns the counter of a day that belongs to a counter, and when it ends.
func Day(counter string, now time.Time) (key string, expireAt int64) {
	now = now.UTC()
	return counter + ":" + now.Format(time.DateOnly), now.Add(statsTTL).Unix()
}
