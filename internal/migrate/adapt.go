package migrate

import (
	"iter"

	"github.com/world-redis/world-redis"
)

// adapted yields the parts of a copy with the times that a log has here:
//
//   - The start of a run has the time that its World shows as startedAt, because SDK v4 draws the ids of steps and hooks from it.
//   - Times never decrease along a log. An event with an earlier time than the one before it gets that one's time.
//
// The deployment stays: SDK v5 draws ids from it.
func adapted(startedAt world.Millis, parts iter.Seq2[world.RunPart, error]) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		var last world.Millis
		for part, err := range parts {
			if part.Event != nil {
				e := *part.Event
				switch {
				case startedAt != 0 && e.Type == world.EventRunStarted:
					e.CreatedAt = max(startedAt, last)
				case startedAt != 0 && e.Type == world.EventRunCreated:
					e.CreatedAt = min(e.CreatedAt, startedAt)
				}
				last = max(last, e.CreatedAt)
				e.CreatedAt = last
				part.Event = &e
			}
			if !yield(part, err) {
				return
			}
		}
	}
}
