package storage

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

// An import replays the log of a copy: each event is applied by the script that applied it first, with the time that it has. So
// the entities and indexes follow from the events by the same rules. Only then does the run get the tokens of its hooks and enter
// the lists, so nothing finds it, and nothing executes it, before it is complete.

var _ world.RunImporter = (*Store)(nil)

// ImportRun implements world.RunImporter.
func (s *Store) ImportRun(ctx context.Context, c *world.RunCopy, streams func(context.Context) error) (world.ImportedRun, error) {
	if err := checkCopy(c); err != nil {
		return "", err
	}
	i := &runImport{store: s, copy: c, keys: s.keys.of(c.Run.RunID)}
	before, err := i.look(ctx)
	if err != nil || before {
		return world.RunImportedBefore, err
	}
	if err := i.checkTokens(ctx); err != nil {
		return "", err
	}
	write := i.replay
	if c.Run.SpecVersion <= 1 {
		write = i.writeLegacy
	}
	for _, step := range []func(context.Context) error{write, streams, i.publish} {
		if err := step(ctx); err != nil {
			return "", err
		}
	}
	if i.left > 0 {
		s.log.InfoContext(ctx, "an import left out events that cannot follow those before them", slog.String("run_id", i.runID()), slog.Int("events", i.left))
	}
	return world.RunImported, nil
}

func checkCopy(c *world.RunCopy) error {
	switch r := c.Run; {
	case world.CheckID("runId", r.RunID) != nil:
		return world.CheckID("runId", r.RunID)
	case r.WorkflowName == "" || r.DeploymentID == "":
		return badCopy(r.RunID, "has no workflow or no deployment")
	case r.CreatedAt <= 0:
		return badCopy(r.RunID, "has no time of creation")
	}
	return nil
}

func badCopy(runID, what string) error {
	return world.Errorf(world.CodeInvalid, "The copy of run %q %s", runID, what)
}

// runImport is the import of one run.
type runImport struct {
	store    *Store
	copy     *world.RunCopy
	keys     runKeys
	have     int          // events that an interrupted import has written
	passed   int          // of these, how many events of the copy were found to be
	position int          // of the next event
	last     world.Millis // time of the event before it
	left     int          // events of a foreign log that were left out
}

func (i *runImport) runID() string { return i.copy.Run.RunID }

// look finds out what is there of the run. before says that an earlier import, or the run itself, has completed it.
func (i *runImport) look(ctx context.Context) (before bool, err error) {
	s, runID := i.store, i.runID()
	var run *redis.SliceCmd
	var removed *redis.IntCmd
	var listed *redis.FloatCmd
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		run = p.HMGet(ctx, i.keys.run(), "s", "en", "et", "d", "n")
		removed = p.Exists(ctx, i.keys.removed())
		listed = p.ZScore(ctx, s.index.Keys.All(), runID)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fail(err)
	}
	if removed.Val() == 1 {
		return false, world.Errorf(world.CodeConflict, "Run %q was removed here less than an hour ago", runID)
	}
	state := record.Reply(run.Val())
	if state.Text(0) == "" {
		return false, nil
	}
	i.have, i.position, i.last = state.Number(1), state.Number(1), world.Millis(state.Number(2))
	if i.have > 0 {
		if err := i.compare(ctx); err != nil {
			return false, err
		}
	}
	if listed.Err() == nil {
		if !i.copy.Foreign && i.copy.Events > int64(i.have) {
			return false, world.Errorf(world.CodeConflict, "Run %q is here already, with %d events; its copy has %d", runID, i.have, i.copy.Events)
		}
		return true, nil
	}
	return false, nil
}

// compare refuses a copy whose first event, or the event that is the last one here, is another event than here.
func (i *runImport) compare(ctx context.Context) error {
	position := 0
	for part, err := range i.copy.Parts {
		if err != nil {
			return err
		}
		if part.Event == nil || position == i.have || position > 0 && i.copy.Foreign {
			return nil
		}
		if position == 0 || position == i.have-1 {
			here, err := i.store.readEvent(ctx, i.runID(), position)
			if err != nil {
				return err
			}
			if !sameEvent(here, *part.Event) {
				return world.Errorf(world.CodeConflict, "Another run with the id %q is here: event %d differs", i.runID(), position)
			}
		}
		position++
	}
	return nil
}

func sameEvent(a, b world.Event) bool {
	return a.Type == b.Type && a.CreatedAt == b.CreatedAt && a.CorrelationID == b.CorrelationID
}

// readEvent reads one event without its payload.
func (s *Store) readEvent(ctx context.Context, runID string, position int) (world.Event, error) {
	text, err := s.redis.HGet(ctx, s.keys.of(runID).events(), strconv.Itoa(position)).Result()
	if err != nil {
		return world.Event{}, fail(err)
	}
	e, err := record.Decode(runID, position, record.Bare(text), nil)
	return e, fail(err)
}

// checkTokens refuses a run if a live hook of another run has the token of one of its own, before anything is written.
func (i *runImport) checkTokens(ctx context.Context) error {
	for part, err := range i.copy.Parts {
		if err != nil {
			return err
		}
		if part.Stream != nil {
			return nil
		}
		if part.Hook == nil {
			continue
		}
		h := part.Hook
		value, err := i.store.redis.Get(ctx, i.store.keys.claim(rediskey.Hash(h.Token))).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fail(err)
		}
		holder := record.ParseClaim(value)
		if holder.RunID == i.runID() {
			continue
		}
		if live, err := i.store.fence(ctx, holder); err != nil || live {
			return errors.Join(err, i.tokenTaken(h.HookID, holder.RunID))
		}
	}
	return nil
}

func (i *runImport) tokenTaken(hookID, holder string) error {
	return world.Errorf(world.CodeConflict, "The token of hook %q of run %q belongs to a hook of run %q here", hookID, i.runID(), holder)
}

// publish claims the tokens of the run's hooks, completes its end, and enters it into the lists.
func (i *runImport) publish(ctx context.Context) error {
	s := i.store
	run, found, err := s.peekRun(ctx, i.runID())
	if err == nil && !found {
		err = badCopy(i.runID(), "has no events")
	}
	if err != nil {
		return err
	}
	entry := s.index.Entry(run.RunID, run.WorkflowName, run.CreatedAt, run.Status)
	entry.Due = s.dueAfterEnd(ctx, run)
	if err := i.claimTokens(ctx, entry); err != nil {
		return err
	}
	left, state, err := s.readLeft(ctx, run.RunID)
	if err != nil {
		return err
	}
	if err := s.releaseRun(ctx, left, state); err != nil {
		return err
	}
	_, err = s.redis.Pipelined(ctx, func(p redis.Pipeliner) error { s.index.Add(ctx, p, entry); return nil })
	if err != nil {
		return fail(err)
	}
	if run.Status.Terminal() {
		return fail(s.index.Move(ctx, entry))
	}
	return nil
}

// claimTokens claims the tokens of the hooks that live in the run, and writes the entries by which they are found.
func (i *runImport) claimTokens(ctx context.Context, entry runindex.Entry) error {
	s := i.store
	return s.eachHook(ctx, i.runID(), func(h record.HeldHook) error {
		if err := s.writeHookEntry(ctx, h, entry.Score); err != nil {
			return err
		}
		for range claimTries {
			r, err := s.scripts.valueClaim.Run(ctx, s.redis, []string{s.keys.claim(h.TokenHash)}, h.Claim.String())
			if err != nil {
				return fail(err)
			}
			holder := record.ParseClaim(record.Reply(r).Text(1))
			if holder.SameHook(h.Claim) {
				return nil
			}
			live, err := s.fence(ctx, holder)
			if err != nil {
				return err
			}
			if live {
				s.log.WarnContext(ctx, "a run that is being imported lacks the token of a hook, which another run has claimed since; cancel one of the two",
					slog.String("run_id", i.runID()), slog.String("hook_id", h.HookID), slog.String("holder", holder.RunID))
				return i.tokenTaken(h.HookID, holder.RunID)
			}
			if _, err := s.takeOver(ctx, h.TokenHash, holder.String(), h.Claim); err != nil {
				return err
			}
		}
		return contention()
	})
}
