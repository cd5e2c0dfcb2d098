package streaming

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// auditBatch is how many streams are looked at in one round trip.
const auditBatch = 500

// audit looks at every stream that has live readers, again and again, and wakes readers
// that lack something: doorbells get lost when a connection breaks or Redis fails over.
// It asks once a stream and not once a reader, in pipelines, so idle readers cost little.
func (s *Service) audit(ctx context.Context) error {
	return s.readers.bell.Audit(ctx, s.config.AuditInterval, s.auditAll)
}

// auditAll reports whether it found news for any reader.
func (s *Service) auditAll(ctx context.Context) (news bool) {
	topics := s.readers.all()
	for len(topics) > 0 && ctx.Err() == nil {
		n := min(auditBatch, len(topics))
		found, err := s.auditTopics(ctx, topics[:n])
		if err != nil && ctx.Err() == nil {
			s.log.Info("missed doorbells could not be looked for; it is tried again", slog.Any("error", err))
		}
		news = news || found
		topics = topics[n:]
	}
	return news
}

func (s *Service) auditTopics(ctx context.Context, topics []*topic) (news bool, err error) {
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
		if s.readers.wakeBehind(t, state) {
			news = true
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
				s.readers.tellOver(waiting[i])
			}
		}
	}
	return news, err
}

func (d *readers) all() []*topic {
	d.mu.Lock()
	defer d.mu.Unlock()
	topics := make([]*topic, 0, len(d.topics))
	for _, t := range d.topics {
		topics = append(topics, t)
	}
	return topics
}

// wakeBehind wakes the readers of a stream that lack some of its chunks or its end, and
// reports whether nothing told them before.
func (d *readers) wakeBehind(t *topic, st state) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range t.listeners {
		if st.done || l.next.Load() < st.count {
			t.rings.Add(1)
			l.wake()
		}
	}
	news = t.audited && st.records() > t.told
	t.audited, t.told = true, st.records()
	return news
}

// tellOver has the readers of a stream that nobody closed look whether it is over: no doorbell rings for
// that. They look together, see [Service.sharedState].
func (d *readers) tellOver(t *topic) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.rings.Add(1)
	for l := range t.listeners {
		l.over.Store(true)
		l.wake()
	}
}
