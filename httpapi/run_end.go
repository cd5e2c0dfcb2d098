package httpapi

import "github.com/world-redis/world-redis"

// runEnded lets the queue forget what waits for a run, when an answer says that it has ended.
// The reader of the answer need not wait for that.
func (s *Server) runEnded(runID string) {
	if s.deps.Forget != nil {
		s.deps.Forget.ForgetRun(runID)
	}
}

// runEndedBy looks at what an event has done.
func (s *Server) runEndedBy(t world.EventType, runID string) {
	if t == world.EventRunCompleted || t == world.EventRunFailed || t == world.EventRunCancelled {
		s.runEnded(runID)
	}
}
