package streaming

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

const auditBatch = 500

// audit looks at every stream that has live readers, again and again, and wakes readers
// that lack something: doorbells get lost when a connection breaks or Redis fails over.
// It asks once a stream and not once a reader, in pipelines, so idle readers cost little.
func (s *Service) audit(ctx context.Context) error {
	ticker := time.NewTicker(s.config.AuditInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		topics := s.bell.all()
		for len(topics) > 0 && ctx.Err() == nil {
			n := min(auditBatch, len(topics))
			if err := s.auditTopics(ctx, topics[:n]); err != nil && ctx.Err() == nil {
				s.log.Warn("look for missed doorbells", slog.Any("error", err))
			}
			topics = topics[n:]
		}
	}
}

func (s *Service) auditTopics(ctx context.Context, topics []*topic) error {
	states := make([]*redis.SliceCmd, len(topics))
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, t := range topics {
			states[i] = pipe.HMGet(ctx, t.keys.meta, "n", "eof")
		}
		return nil
	})
	for i, t := range topics {
		fields, stateErr := states[i].Result()
		if stateErr != nil {
			continue // err has the first of these
		}
		count, done, stateErr := readState(fields)
		if stateErr != nil {
			err = stateErr
			continue
		}
		s.bell.wakeBehind(t, count, done)
	}
	return err
}

func (d *doorbell) all() []*topic {
	d.mu.Lock()
	defer d.mu.Unlock()
	topics := make([]*topic, 0, len(d.topics))
	for _, t := range d.topics {
		topics = append(topics, t)
	}
	return topics
}

// wakeBehind wakes the readers of a stream that lack some of its chunks or its end.
func (d *doorbell) wakeBehind(t *topic, count int64, done bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range t.listeners {
		if done || l.next.Load() < count {
			t.rings.Add(1)
			l.wake()
		}
	}
}
