package streaming

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// auditBatch is how many streams are checked in one round trip.
const auditBatch = 500

// audit periodically checks every stream that has live readers, and wakes readers that are behind: doorbells get lost
// when a connection breaks or Redis fails over. It asks once per stream, not per reader, and in pipelines, so idle
// readers cost little.
func (s *Service) audit(ctx context.Context) error {
	return s.topics.bell.Audit(ctx, s.config.AuditInterval, s.auditAll)
}

// auditAll reports whether any reader was behind.
func (s *Service) auditAll(ctx context.Context) (behind bool) {
	topics := s.topics.all()
	for len(topics) > 0 && ctx.Err() == nil {
		n := min(auditBatch, len(topics))
		found, err := s.auditTopics(ctx, topics[:n])
		if err != nil && ctx.Err() == nil {
			s.log.Info("the check for missed doorbells failed and is repeated", slog.Any("error", err))
		}
		behind = behind || found
		topics = topics[n:]
	}
	return behind
}

func (s *Service) auditTopics(ctx context.Context, topics []*topic) (behind bool, err error) {
	reads := make([]*redis.SliceCmd, len(topics))
	_, err = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, t := range topics {
			reads[i] = readState(ctx, pipe, t.keys)
		}
		return nil
	})
	open, waiting := make([]state, 0, len(topics)), make([]*topic, 0, len(topics))
	for i, t := range topics {
		state, stateErr := stateOf(t.keys, reads[i])
		if stateErr != nil {
			if err == nil {
				err = stateErr
			}
			continue
		}
		if s.topics.wakeBehind(t, state) {
			behind = true
		}
		if !state.done {
			open, waiting = append(open, state), append(waiting, t)
		}
	}
	if err == nil {
		err = s.askRuns(ctx, open)
	}
	if err == nil {
		for i, state := range open {
			if state.over || state.gone || state.done {
				s.topics.checkOver(waiting[i])
			}
		}
	}
	return behind, err
}

func (all *topics) all() []*topic {
	all.mu.Lock()
	defer all.mu.Unlock()
	topics := make([]*topic, 0, len(all.byChannel))
	for _, t := range all.byChannel {
		topics = append(topics, t)
	}
	return topics
}

// wakeBehind wakes the readers of a stream that lack some of its chunks or its end. It reports whether no doorbell
// had announced these.
func (all *topics) wakeBehind(t *topic, st state) (behind bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for l := range t.listeners {
		if st.done || l.next.Load() < st.count {
			t.rings.Add(1)
			l.wake()
		}
	}
	behind = t.audited && st.records() > t.announced
	t.audited, t.announced = true, st.records()
	return behind
}

// checkOver makes the readers of a stream that nobody closed check whether it is over, since no doorbell announces
// that. They share one check, see [Service.sharedState].
func (all *topics) checkOver(t *topic) {
	all.mu.Lock()
	defer all.mu.Unlock()
	t.rings.Add(1)
	for l := range t.listeners {
		l.over.Store(true)
		l.wake()
	}
}
