package storage

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

const (
	lostKept    = 24 * time.Hour // how long lost calls are listed
	lostDefault = 100            // calls in a page
	lostMost    = 1000
	lostAtOnce  = 500 // calls that one command enters
)

var _ world.LossStore = (*Store)(nil)

// lostCall is a member of the list. It does not depend on the replica that found the loss, so no call is listed twice.
type lostCall struct {
	Kind     world.AnsweredKind `json:"k"`
	At       world.Millis       `json:"t"`
	RunID    string             `json:"r"`
	Workflow string             `json:"w,omitempty"`
	EventID  string             `json:"e,omitempty"`
	HookID   string             `json:"h,omitempty"`
	Token    string             `json:"o,omitempty"`
	ResumeID string             `json:"i,omitempty"`
}

// MissingCalls implements world.LossStore. It takes two round trips, and reads no payload above 1 KiB.
func (s *Store) MissingCalls(ctx context.Context, calls []world.AnsweredCall) ([]bool, error) {
	missing, sizes, removed := make([]bool, len(calls)), make([]*redis.IntCmd, len(calls)), make([]*redis.IntCmd, len(calls))
	if len(calls) == 0 {
		return missing, nil
	}
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			k := s.keys.of(c.RunID)
			if place, is := resumePlace(c); is {
				sizes[i] = p.HStrLen(ctx, k.events(), place)
			} else {
				sizes[i] = p.Exists(ctx, k.run())
			}
			removed[i] = p.Exists(ctx, k.removed())
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	var there []int // resumes to compare
	for i, c := range calls {
		missing[i] = sizes[i].Val()+removed[i].Val() == 0
		if _, is := resumePlace(c); is && sizes[i].Val() > 0 {
			there = append(there, i)
		}
	}
	for len(there) > 0 {
		n, bytes := 0, 0
		for n < len(there) && (n == 0 || bytes+int(sizes[there[n]].Val()) <= portionBytes) {
			bytes += int(sizes[there[n]].Val())
			n++
		}
		if err := s.compareResumes(ctx, calls, there[:n], missing); err != nil {
			return nil, err
		}
		there = there[n:]
	}
	return missing, nil
}

// resumePlace is where the event of a resume stands in the log.
func resumePlace(c world.AnsweredCall) (field string, is bool) {
	if c.Kind != world.AnsweredResume {
		return "", false
	}
	position, ok := record.PositionOf(c.EventID)
	return strconv.Itoa(position), ok
}

// compareResumes finds which of the calls have another event at the position of theirs.
func (s *Store) compareResumes(ctx context.Context, calls []world.AnsweredCall, which []int, missing []bool) error {
	records := make([]*redis.StringCmd, len(which))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, at := range which {
			place, _ := resumePlace(calls[at])
			records[i] = p.HGet(ctx, s.keys.of(calls[at].RunID).events(), place)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return fail(err)
	}
	for i, at := range which {
		c := calls[at]
		position, _ := record.PositionOf(c.EventID)
		e, err := record.Decode(c.RunID, position, records[i].Val(), nil)
		missing[at] = err != nil || e.CreatedAt != c.At || e.Type != world.EventHookReceived || e.CorrelationID != c.HookID || e.ResumeID != c.ResumeID
	}
	return nil
}

// NoteLost implements world.LossStore.
func (s *Store) NoteLost(ctx context.Context, calls []world.AnsweredCall) error {
	key := s.keys.lostCalls()
	for len(calls) > 0 {
		n := min(len(calls), lostAtOnce)
		members := make([]redis.Z, 0, n)
		for _, c := range calls[:n] {
			text, err := json.Marshal(lostCall{c.Kind, c.At, c.RunID, c.WorkflowName, c.EventID, c.HookID, c.Token, c.ResumeID})
			if err != nil {
				return fail(err)
			}
			members = append(members, redis.Z{Score: float64(c.At), Member: text})
		}
		_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.ZAdd(ctx, key, members...)
			p.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(int64(world.MillisOf(s.clock.Now().Add(-lostKept))), 10))
			p.ZRemRangeByRank(ctx, key, 0, -world.MaxLostCalls-1)
			p.Expire(ctx, key, lostKept)
			return nil
		})
		if err != nil {
			return fail(err)
		}
		calls = calls[n:]
	}
	return nil
}

// ListLost implements world.LossStore. A cursor is how many calls to skip, so new calls shift the pages.
func (s *Store) ListLost(ctx context.Context, p world.PageRequest) (world.Page[world.AnsweredCall], error) {
	page := world.Page[world.AnsweredCall]{}
	skip := 0
	if p.Cursor != "" {
		n, err := strconv.Atoi(p.Cursor)
		if err != nil || n < 0 || n > world.MaxLostCalls {
			return page, world.Errorf(world.CodeInvalid, "The cursor is not one of this list")
		}
		skip = n
	}
	limit := p.Limit
	if limit <= 0 {
		limit = lostDefault
	}
	limit = min(limit, lostMost)
	texts, err := s.redis.ZRangeArgs(ctx, redis.ZRangeArgs{Key: s.keys.lostCalls(), Start: skip, Stop: skip + limit, Rev: true}).Result()
	if err != nil {
		return page, fail(err)
	}
	page.HasMore = len(texts) > limit
	texts = texts[:min(len(texts), limit)]
	for _, text := range texts {
		var c lostCall
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return page, fail(err)
		}
		page.Data = append(page.Data, world.AnsweredCall{
			Kind: c.Kind, At: c.At, RunID: c.RunID, WorkflowName: c.Workflow, EventID: c.EventID, HookID: c.HookID, Token: c.Token, ResumeID: c.ResumeID,
		})
	}
	if len(texts) > 0 {
		page.Cursor = strconv.Itoa(skip + len(texts))
	}
	return page, nil
}
