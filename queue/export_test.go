package queue

import "time"

// HurrySuspects makes short what suspects wait for; how long one is alone in the app's hands is told.
func (q *Queue) HurrySuspects(alone, brief time.Duration) {
	q.suspectTimes.look, q.suspectTimes.alone, q.suspectTimes.brief = 10*time.Millisecond, alone, brief
}

// Open is New with another check of asynq.
var Open = open
