package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

const sequenceCalls = 40

// sequence is one sequence of calls through a store, and what it was so far.
type sequence struct {
	*mix
	t       *testing.T
	subject *Subject
	caller  *Caller
	through world.Store
	model   *model
	seed    uint64
	past    []appliedCall
	lines   []func() string

	pastBatches []appliedBatch
}

type appliedCall struct {
	req    world.CreateEvent
	result world.EventResult
}

func newSequence(t *testing.T, subject *Subject, seed uint64) *sequence {
	t.Helper()
	m := newMix(t, subject, seed)
	return &sequence{
		mix: m, t: t, subject: subject, caller: subject.on(t, 3), through: subject.through(), model: newModel(m.specs), seed: seed,
	}
}

func (s *sequence) run() {
	s.t.Helper()
	done := false
	defer func() {
		if !done {
			s.t.Logf("seed %d; the calls, and what the model expected:\n%s", s.seed, s.story())
		}
	}()
	start := s.caller.Clock.Now()
	for range sequenceCalls {
		if s.chance(20) && s.caller.Clock.Now().Sub(start) < 9*time.Minute { // request ids last for ten
			s.caller.Clock.Add(time.Duration(s.rng.IntN(20_000)) * time.Millisecond)
		}
		if s.subject.BeforeCall != nil {
			s.subject.BeforeCall(s.rng)
		}
		s.next()
	}
	if s.subject.AfterCalls != nil {
		s.subject.AfterCalls()
	}
	s.compareTokens()
	s.caller.Clock.Add(2 * time.Minute) // every retention is over
	s.subject.upkeep(s.t)
	s.compareRuns()
	done = true
}

// next makes one call: a new one, mostly, or one that was made before.
func (s *sequence) next() {
	s.t.Helper()
	switch {
	case len(s.past) > 0 && s.chance(12):
		s.repeat(s.past[s.rng.IntN(len(s.past))])
	case len(s.pastBatches) > 0 && s.chance(5):
		s.repeatBatch(s.pastBatches[s.rng.IntN(len(s.pastBatches))])
	case s.chance(8):
		s.callInvalid()
	case s.chance(12):
		s.callBatch(s.nextBatch())
	default:
		s.call(s.mix.next())
	}
}

// call makes a call that is new and compares the answer.
func (s *sequence) call(req world.CreateEvent) {
	s.t.Helper()
	want := s.model.call(req, s.caller.now())
	s.note(req, "%q %v %s", want.code, want.appended, want.recorded)
	result, err := s.through.CreateEvent(s.caller.Ctx, req)
	require.Equal(s.t, want.code, world.ErrorCode(err), "%v", err)
	s.compareLength(req.RunID)
	run := s.model.runs[req.RunID]
	if want.code != "" {
		return
	}
	if result.Run != nil {
		s.compareRun(run, *result.Run)
	}
	if result.Step != nil {
		step := run.steps[req.CorrelationID]
		require.Equal(s.t, string(step.status), string(result.Step.Status))
		require.Equal(s.t, []any{step.attempt, step.retryAfter}, []any{result.Step.Attempt, result.Step.RetryAfter})
	}
	switch {
	case want.recorded != "":
		require.Equal(s.t, []any{want.recorded, req.CorrelationID}, []any{result.Event.Type, result.Event.CorrelationID})
	case len(want.appended) == 0:
		require.Nil(s.t, result.Event)
	default:
		got := modelEvent{result.Event.Type, result.Event.CorrelationID}
		require.Equal(s.t, want.appended[len(want.appended)-1], got)
		s.past = append(s.past, appliedCall{req, result})
	}
}

// callInvalid makes a call that is refused for what it says, in whatever state its run is.
func (s *sequence) callInvalid() {
	s.t.Helper()
	req, want := s.invalid()
	s.note(req, "refused: %s", want)
	_, err := s.through.CreateEvent(s.caller.Ctx, req)
	require.Equal(s.t, want, world.ErrorCode(err), "%v", err)
	if run := s.model.runs[req.RunID]; run != nil {
		s.compareLength(req.RunID)
	}
}

// repeat makes a call again that was applied before.
func (s *sequence) repeat(first appliedCall) {
	s.t.Helper()
	s.note(first.req, "the same again")
	result, err := s.through.CreateEvent(s.caller.Ctx, first.req)
	require.NoError(s.t, err)
	if first.req.Type == world.EventRunStarted { // brings the log as it is now
		result.Events, result.Cursor, result.HasMore = first.result.Events, first.result.Cursor, first.result.HasMore
	}
	if s.model.runs[first.req.RunID].expired() { // what was answered before is not kept
		require.Equal(s.t, first.result.Event.EventID, result.Event.EventID)
		require.Equal(s.t, first.result.Event.CreatedAt, result.Event.CreatedAt)
	} else {
		require.Equal(s.t, first.result, result)
	}
	s.compareLength(first.req.RunID)
}

// compareLength looks at the log after every call, which is slow: with -model.seed only, to see
// which call it was that the whole log is wrong about.
func (s *sequence) compareLength(runID string) {
	s.t.Helper()
	if *modelSeed == 0 {
		return
	}
	n := len(s.caller.Events(runID))
	require.Len(s.t, s.model.runs[runID].log, n, "events in the log: %d", n)
}

// compareTokens holds who has a token against the model.
func (s *sequence) compareTokens() {
	s.t.Helper()
	now := s.caller.now()
	for token, holder := range s.model.tokens {
		hook, err := s.caller.GetHookByToken(s.caller.Ctx, token, true)
		if !holder.lives(now) {
			require.Equal(s.t, world.CodeHookNotFound, world.ErrorCode(err), "token %s", token)
			continue
		}
		require.NoError(s.t, err)
		require.Equal(s.t, []any{holder.id, token, holder.run}, []any{hook.HookID, hook.Token, s.model.runs[hook.RunID]})
	}
}

// compareRuns holds what is stored of the runs against the model, and against itself.
func (s *sequence) compareRuns() {
	s.t.Helper()
	var existing []string
	expired := map[string]bool{}
	for runID, want := range s.model.runs {
		stored := s.caller.Events(runID)
		log := make([]modelEvent, len(stored))
		for i, e := range stored {
			log[i] = modelEvent{e.Type, e.CorrelationID}
		}
		require.Equal(s.t, append([]modelEvent{}, want.log...), log)
		run, err := s.caller.GetRun(s.caller.Ctx, runID, false)
		if want.status == "" {
			require.Equal(s.t, world.CodeRunNotFound, world.ErrorCode(err))
			continue
		}
		require.NoError(s.t, err)
		existing = append(existing, runID)
		s.compareRun(want, run)
		if want.expired() {
			expired[runID] = true
			require.Equal(s.t, []world.Raw{nil, nil, nil}, []world.Raw{run.Input, run.Output, run.Error})
		}
		s.caller.checkLog(stored)
		steps := map[string]*modelStep{}
		for _, step := range s.caller.checkEntities(run, stored) {
			steps[step.StepID] = &modelStep{status: world.RunStatus(step.Status), attempt: step.Attempt, retryAfter: step.RetryAfter}
		}
		require.Equal(s.t, want.steps, steps)
	}
	s.subject.checkOwn(s.t, existing...)
	if s.subject.Purged == nil {
		return
	}
	purged := map[string]bool{}
	for _, runID := range s.subject.Purged() {
		purged[runID] = true
	}
	require.Equal(s.t, expired, purged, "runs whose streams were taken away")
}

func (s *sequence) compareRun(want *modelRun, run world.Run) {
	s.t.Helper()
	require.Equal(s.t, want.status, run.Status)
	require.Equal(s.t, want.expired(), run.ExpiredAt != 0)
	if want.spec < firstAttributeSpec {
		require.Nil(s.t, run.Attributes)
		return
	}
	require.Equal(s.t, want.attributes, AttributesOf(s.t, &run))
}

// note writes down a call and what comes of it, for the log of a failure.
func (s *sequence) note(req world.CreateEvent, format string, args ...any) {
	now := s.caller.now()
	s.lines = append(s.lines, func() string {
		run := slices.Index(s.runIDs, req.RunID)
		line := fmt.Sprintf("%d run %d (spec %d) %s %s", now, run, req.SpecVersion, req.Type, req.CorrelationID)
		for _, key := range []string{"token", "tokenRetentionUntil", "retryAfter", "input", "changes", "attributes"} {
			if req.Data.Has(key) {
				line += fmt.Sprintf(" %s=%q", key, req.Data.Get(key))
			}
		}
		if req.ResumeID != "" {
			line += " resume " + req.ResumeID + " " + req.ResumePayloadDigest
		}
		return line + " [" + req.RequestID + "] → " + fmt.Sprintf(format, args...)
	})
}

// story is what note wrote down.
func (s *sequence) story() string {
	var out strings.Builder
	for _, line := range s.lines {
		out.WriteString(line() + "\n")
	}
	return out.String()
}
