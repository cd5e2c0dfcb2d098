package storage

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// mintMemory is how long the run id that a call got is remembered.
const mintMemory = 20 * time.Minute

// CreateLegacyRun implements world.LegacyStore.
func (s *Store) CreateLegacyRun(ctx context.Context, req world.CreateLegacyRun) (world.Run, error) {
	switch {
	case req.DeploymentID == "":
		return world.Run{}, lacking("deploymentId")
	case req.WorkflowName == "":
		return world.Run{}, lacking("workflowName")
	case len(req.Input) == 0:
		return world.Run{}, lacking("input")
	}
	runID, err := s.mintRun(ctx, req.RequestID)
	if err != nil {
		return world.Run{}, err
	}
	now := s.now()
	entry := s.index.Entry(runID, req.WorkflowName, now, world.RunPending)
	if _, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error { s.index.Add(ctx, p, entry); return nil }); err != nil {
		return world.Run{}, fail(err)
	}
	k := s.keys.of(runID)
	r, err := s.scripts.legacyRunCreate.Run(ctx, s.redis, []string{k.run(), k.removed()},
		strconv.FormatInt(int64(now), 10), req.DeploymentID, req.WorkflowName, []byte(req.Input), []byte(req.ExecutionContext))
	if err != nil {
		return world.Run{}, fail(err)
	}
	answer := record.Reply(r)
	code, err := answer.Code()
	if err != nil {
		return world.Run{}, fail(err)
	}
	if code == codeRunRemoved {
		s.index.Correct(ctx, entry)
		return world.Run{}, runRemoved(runID)
	}
	if code == codeReplayed {
		s.index.Correct(ctx, entry) // the run may have moved on already
	}
	created := world.Millis(answer.Number(1))
	run := world.Run{
		RunID: runID, Status: world.RunPending, DeploymentID: req.DeploymentID, WorkflowName: req.WorkflowName,
		ExecutionContext: req.ExecutionContext, CreatedAt: created, UpdatedAt: created,
	}
	if !req.ResolveNone {
		run.Input = req.Input
	}
	return run, nil
}

// mintRun returns a new run id, and the same one again for the same request.
func (s *Store) mintRun(ctx context.Context, requestID string) (string, error) {
	fresh := s.ids.Prefixed("wrun_")
	if requestID == "" {
		return fresh, nil
	}
	key := s.keys.minted(rediskey.Hash(requestID))
	var holder *redis.StringCmd
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.SetNX(ctx, key, fresh, mintMemory) //nolint:staticcheck // SET NX GET needs Redis 7
		holder = p.Get(ctx, key)
		return nil
	})
	if err != nil {
		return "", fail(err)
	}
	return holder.Val(), nil
}

// UpdateLegacyRun implements world.LegacyStore.
func (s *Store) UpdateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (world.Run, error) {
	run, _, err := s.updateLegacyRun(ctx, req)
	return run, err
}

// updateLegacyRun also reports whether the run was changed by this call, now or at its first try.
func (s *Store) updateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (run world.Run, changed bool, err error) {
	if err := checkLegacyIDs("runId", req.RunID); err != nil {
		return run, false, err
	}
	if req.Status != "" && (req.Status == world.RunPending || !slices.Contains(runindex.Statuses, req.Status)) {
		return run, false, badStatus("run that an update may set", req.Status)
	}
	c := s.newLegacyCall(req.RunID, "", req.RequestID, "run "+string(req.Status)+flag(req.Resume), req.ResolveNone)
	entry := s.index.Entry(req.RunID, "", c.now, req.Status)
	if err := s.index.WatchNow(ctx, req.RunID); err != nil {
		return run, false, fail(err)
	}
	r, err := s.runLegacy(ctx, c, s.scripts.legacyRunUpdate,
		[]string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()},
		string(req.Status), []byte(req.Output), []byte(req.Error), []byte(req.ExecutionContext), flag(req.Resume))
	if err != nil {
		return run, false, err
	}
	// What is committed is completed even if the caller is gone.
	ctx = context.WithoutCancel(ctx)
	e, err := record.DecodeEntity(req.RunID, r.List(1), nil)
	if err != nil {
		return run, false, fail(err)
	}
	if err := s.releaseRun(ctx, r.List(2), e); err != nil {
		return run, false, err
	}
	if req.Status != "" {
		entry.Due = s.dueAfterEnd(ctx, e.Run(true))
		if err := s.moveLegacyRun(ctx, entry); err != nil {
			return run, false, err
		}
	}
	s.clearLater(ctx, e)
	e.AsOf(r.Text(3))
	code, err := r.Code()
	return e.Run(req.ResolveNone), code != codeUnchanged, fail(err)
}

// moveLegacyRun moves a run that may be paused and go on again in the lists. Another call may be moving it the other way,
// so each reads the run after its own move: the last one leaves it where it belongs.
func (s *Store) moveLegacyRun(ctx context.Context, e runindex.Entry) error {
	for {
		if err := s.index.Move(ctx, e); err != nil {
			return fail(err)
		}
		elsewhere := slices.DeleteFunc([]world.RunStatus{world.RunRunning, world.RunPaused}, func(status world.RunStatus) bool { return status == e.Status })
		if err := s.index.Leave(ctx, e.RunID, elsewhere...); err != nil {
			return fail(err)
		}
		now, err := s.redis.HGet(ctx, s.keys.of(e.RunID).run(), "s").Result()
		if err != nil {
			return fail(err)
		}
		if world.RunStatus(now) == e.Status {
			return nil
		}
		e.Status = world.RunStatus(now)
	}
}
