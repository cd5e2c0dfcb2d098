package storage

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

var _ world.IdleStore = (*Store)(nil)

// idleReads are the reads that tell whether a run is idle.
type idleReads struct {
	run   *redis.SliceCmd
	hooks *redis.IntCmd
}

// queueIdle queues two small reads, whose cost does not depend on the length of the log. EXISTS counts a key twice that is
// given twice, so one number says both: 1 for live hooks, plus 2 for hooks to release.
func (s *Store) queueIdle(ctx context.Context, p redis.Pipeliner, runID string) idleReads {
	k := s.keys.of(runID)
	return idleReads{
		run:   p.HMGet(ctx, k.run(), "rs", "en", "et", "s", "u"),
		hooks: p.Exists(ctx, k.hooksOrder(), k.leftHooks(), k.leftHooks()),
	}
}

func (r idleReads) idle() world.RunIdle { return r.idleOf(r.hooks.Val()) }

// idleOf is idle with what EXISTS said.
func (r idleReads) idleOf(hooks int64) world.RunIdle {
	run := record.Reply(r.run.Val())
	idle := world.RunIdle{Events: int64(run.Number(1)), LastAt: world.Millis(max(run.Number(2), run.Number(4))), Hooks: hooks%2 == 1}
	events, woken, _ := strings.Cut(run.Text(0), " ")
	if events == strconv.FormatInt(idle.Events, 10) {
		idle.MarkedIdle, idle.Woken = woken == "", woken
	}
	return idle
}

func (r idleReads) status() world.RunStatus {
	return world.RunStatus(record.Reply(r.run.Val()).Text(3))
}

func (r idleReads) left() bool { return r.hooks.Val() > 1 }

// RunsIdle implements world.IdleStore, in one round trip a server.
func (s *Store) RunsIdle(ctx context.Context, runIDs []string) ([]world.RunIdle, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	all := make([]idleReads, len(runIDs))
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			all[i] = s.queueIdle(ctx, p, runID)
		}
		return nil
	})
	if err != nil {
		return nil, fail(err)
	}
	out := make([]world.RunIdle, len(runIDs))
	for i, r := range all {
		out[i] = r.idle()
	}
	return out, nil
}

// MarkIdle implements world.IdleStore.
func (s *Store) MarkIdle(ctx context.Context, runID string, events int64) error {
	return s.noteLength(ctx, runID, events, "")
}

// NoteWake implements world.IdleStore.
func (s *Store) NoteWake(ctx context.Context, runID string, events int64, masters string) error {
	return s.noteLength(ctx, runID, events, " "+masters)
}

func (s *Store) noteLength(ctx context.Context, runID string, events int64, more string) error {
	if err := world.CheckID("runId", runID); err != nil {
		return err
	}
	k := s.keys.of(runID)
	_, err := s.send.Run(ctx, s.scripts.runIdle, []string{k.run()}, events, more)
	return fail(err)
}

// MastersSince implements world.IdleStore. Only the leader calls it.
func (s *Store) MastersSince(ctx context.Context, masters string) (world.Millis, error) {
	text, err := s.redis.HGet(ctx, s.keys.sweepState(), fieldMasters).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fail(err)
	}
	known, at, _ := strings.Cut(text, " ")
	if known == masters {
		return world.Millis(record.Int(at)), nil
	}
	since := world.Millis(0)
	if known != "" {
		since = s.now()
	}
	return since, fail(s.redis.HSet(ctx, s.keys.sweepState(), fieldMasters, masters+" "+strconv.FormatInt(int64(since), 10)).Err())
}
