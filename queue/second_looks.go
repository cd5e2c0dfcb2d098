package queue

import (
	"sync"
	"time"
)

// secondLooks has the messages of ended runs removed once more, some seconds later.
type secondLooks struct {
	q *Queue

	mu      sync.Mutex
	waiting []string
	timer   *time.Timer // runs while some wait
	stopped bool
}

func newSecondLooks(q *Queue) *secondLooks { return &secondLooks{q: q} }

func (s *secondLooks) add(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || len(s.waiting) >= endedBacklog {
		return
	}
	s.waiting = append(s.waiting, part)
	if s.timer == nil {
		s.timer = time.AfterFunc(secondLookAfter, s.fire)
	}
}

// fire returns all runs that wait, including those that have waited for less time than the first.
func (s *secondLooks) fire() {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting, s.timer = nil, nil
	s.mu.Unlock()
	for _, part := range waiting {
		s.q.forgetLater(endedRun{part: part, second: true})
	}
}

func (s *secondLooks) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
