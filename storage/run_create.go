package storage

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// namedRunTTL is how long a run id is remembered that was minted for a request id.
const namedRunTTL = 20 * time.Minute

// nameRun mints the id of a run whose creator leaves that to us. The same request id gets the
// same run id, or a call that is sent again would create a second run.
func (s *Store) nameRun(ctx context.Context, req *world.CreateEvent) error {
	if req.Type != world.EventRunCreated || req.RunID != "" {
		return nil
	}
	req.RunID = s.ids.Prefixed("wrun_")
	if req.RequestID == "" {
		return nil
	}
	key := s.keys.namedRun(rediskey.Hash(req.RequestID))
	first, err := s.redis.SetNX(ctx, key, req.RunID, namedRunTTL).Result()
	if err != nil || first {
		return fail(err)
	}
	req.RunID, err = s.redis.Get(ctx, key).Result()
	return fail(err)
}

// createRun applies run_created. The run enters the lists before it exists: a crash in
// between leaves an entry that readers skip, not a run that no list shows.
func (s *Store) createRun(ctx context.Context, c *call) (world.EventResult, error) {
	entry := s.entryOf(c.req.RunID, textField(c.req.Data, "workflowName"), c.now, world.RunPending)
	o, err := s.applyWith(ctx, c, true, func(p redis.Pipeliner) { s.add(ctx, p, entry) },
		s.scripts.runCreate, nil, strconv.Itoa(c.req.SpecVersion))
	if world.ErrorCode(err) == world.CodeConflict || o.code == codeReplayed {
		s.correct(ctx, entry) // the run may have moved on already
	}
	if err != nil {
		return world.EventResult{}, err
	}
	return s.runResult(c, o)
}

// runResult builds the answer of the run events.
func (s *Store) runResult(c *call, o outcome) (world.EventResult, error) {
	e, err := decodeEntity(c.req.RunID, o.rest.list(0), o.own())
	if err != nil {
		return world.EventResult{}, fail(err)
	}
	run := e.runAsOf(o.stored, c.req.ResolveNone)
	return world.EventResult{Event: c.answer(o.stored.event), Run: &run, MaxEvents: s.maxEvents}, nil
}
