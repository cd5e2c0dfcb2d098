package record

import "github.com/world-redis/world-redis"

// What a wait can be.
const (
	WaitWaiting   = "waiting"
	WaitCompleted = "completed"
)

// WaitOf builds a wait from its wait_created event.
func WaitOf(e world.Event) world.Wait {
	resumeAt, _ := MillisField(e.Data, "resumeAt") // checked before it was stored
	return world.Wait{
		WaitID: e.RunID + "-" + e.CorrelationID, RunID: e.RunID, Status: WaitWaiting, ResumeAt: resumeAt,
		CreatedAt: e.CreatedAt, UpdatedAt: e.CreatedAt, SpecVersion: e.SpecVersion,
	}
}

// EndedWaitOf builds a wait that is over from its two events.
func EndedWaitOf(created, completed world.Event) world.Wait {
	wait := WaitOf(created)
	wait.Status = WaitCompleted
	wait.CompletedAt, wait.UpdatedAt = completed.CreatedAt, completed.CreatedAt
	return wait
}
