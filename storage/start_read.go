package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// ReadStart returns what run_started would answer, in one round trip that writes nothing. ok is false if run_started might
// answer something else or without the whole log: the run is not running, or has more than maxEvents events, or their records
// have more than maxBytes bytes. length is the length of the log of a running run, otherwise 0.
func (s *Store) ReadStart(ctx context.Context, runID string, maxEvents, maxBytes int) (result world.EventResult, length int64, ok bool, err error) {
	if err := world.CheckID("runId", runID); err != nil {
		return world.EventResult{}, 0, false, err
	}
	call := s.StartCall(runID, maxEvents, maxBytes)
	answer, err := s.send.Run(ctx, call.Script, call.Keys, call.Args...)
	if err != nil {
		return world.EventResult{}, 0, false, s.failIn(ctx, runID, err)
	}
	return s.StartOf(ctx, runID, answer)
}

// StartCall is what ReadStart sends, for callers that send it together with other things. The run id must be valid.
func (s *Store) StartCall(runID string, maxEvents, maxBytes int) luascript.Call {
	keys := s.keys.of(runID)
	return luascript.Call{Script: s.scripts.startRead, Keys: []string{keys.run(), keys.events()}, Args: []any{maxEvents, maxBytes}}
}

// StartOf reads the reply to StartCall as ReadStart does.
func (s *Store) StartOf(ctx context.Context, runID string, answer []any) (result world.EventResult, length int64, ok bool, err error) {
	r := record.Reply(answer)
	code, err := r.Code()
	if err != nil {
		return world.EventResult{}, 0, false, fail(err)
	}
	if code != codeDone {
		return world.EventResult{}, int64(r.Number(1)), false, nil
	}
	e, err := record.DecodeEntity(runID, r.List(1), nil)
	if err != nil {
		return world.EventResult{}, 0, false, fail(err)
	}
	c := &call{req: world.CreateEvent{RunID: runID, Type: world.EventRunStarted}}
	result, err = s.startResult(ctx, c, scriptOutcome{code: codeUnchanged, rest: r.After(2)}, e)
	return result, int64(len(result.Events)), err == nil, err
}
