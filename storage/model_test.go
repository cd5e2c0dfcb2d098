package storage

import (
	flags "flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A sequence of a failure comes again with -model.seed=<its seed> -model.sequences=1.
var (
	modelSequences = flags.Int("model.sequences", 1000, "how many random sequences of calls the model test makes")
	modelSeed      = flags.Uint64("model.seed", 0, "seed of the first sequence; 0 draws one")
)

const sequenceCalls = 40

// eachSequence runs the sequences on some workers, each with a database of its own.
func eachSequence(t *testing.T, firstDB, workers, sequences int, run func(t *testing.T, b *bundle, seed uint64)) {
	t.Helper()
	seed := *modelSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	for w := range min(workers, sequences) {
		t.Run(fmt.Sprintf("worker %d", w), func(t *testing.T) {
			t.Parallel()
			r := redistest.New(t)
			if firstDB < 0 {
				r = redistest.Embedded(t)
			} else {
				r.Client = database(t, r.Addr, firstDB+w)
			}
			b := newBundle(t, r)
			for i := w; i < sequences && !t.Failed(); i += workers {
				require.NoError(t, r.Client.FlushDB(t.Context()).Err())
				run(t, b, seed+uint64(i))
			}
		})
	}
}

func database(t *testing.T, addr string, db int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, DB: db, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Random calls are answered as the model says, and leave what the model holds.
func TestModel(t *testing.T) {
	t.Parallel()
	direct := func(t *testing.T, b *bundle, seed uint64) {
		t.Helper()
		newSequence(t, b, b.Store, seed).run(func() {})
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		eachSequence(t, 1, 3, *modelSequences, direct)
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		eachSequence(t, -1, 1, max(1, *modelSequences/20), direct)
	})
}

// The same when answers of Redis are lost now and then: go-redis sends the command again, and
// the caller sees no difference.
func TestModelLostReplies(t *testing.T) {
	t.Parallel()
	var once sync.Once
	var p *proxy
	var flaky *Store
	eachSequence(t, 4, 1, max(1, *modelSequences/40), func(t *testing.T, b *bundle, seed uint64) {
		once.Do(func() {
			p = newProxy(t, b.redis.Addr)
			var err error
			flaky, err = New(t.Context(), database(t, p.addr(), 4), Config{Prefix: b.redis.Prefix, Clock: b.clock})
			require.NoError(t, err)
		})
		s := newSequence(t, b, flaky, seed)
		s.run(func() {
			p.armed.Store(false)
			p.after.Store(s.rng.Int64N(3))
			p.armed.Store(s.chance(30))
		})
		p.armed.Store(false)
	})
	require.False(t, t.Failed())
}

// sequence is one sequence of calls through a store, and what it was so far.
type sequence struct {
	*mix
	t       *testing.T
	b       *bundle
	through *Store
	model   *model
	seed    uint64
	past    []appliedCall
	lines   []string
}

type appliedCall struct {
	req    world.CreateEvent
	result world.EventResult
}

func newSequence(t *testing.T, b *bundle, through *Store, seed uint64) *sequence {
	t.Helper()
	m := newMix(t, b, seed)
	return &sequence{mix: m, t: t, b: b.on(t, 3), through: through, model: newModel(m.specs), seed: seed}
}

func (s *sequence) run(before func()) {
	s.t.Helper()
	done := false
	defer func() {
		if !done {
			s.t.Logf("seed %d; the calls, and what the model expected:\n%s", s.seed, strings.Join(s.lines, "\n"))
		}
	}()
	start := s.b.clock.Now()
	for range sequenceCalls {
		if s.chance(20) && s.b.clock.Now().Sub(start) < 9*time.Minute { // request ids last for ten
			s.b.clock.add(time.Duration(s.rng.IntN(20_000)) * time.Millisecond)
		}
		before()
		if len(s.past) > 0 && s.chance(12) {
			s.repeat(s.past[s.rng.IntN(len(s.past))])
		} else {
			s.call(s.next())
		}
	}
	s.compare()
	s.b.clock.add(2 * time.Minute) // every retention is over
	s.b.sweep()
	s.b.check(s.existing()...)
	done = true
}

// call makes a call that is new and compares the answer.
func (s *sequence) call(req world.CreateEvent) {
	s.t.Helper()
	want := s.model.call(req, s.b.now())
	s.note(req, "%q %v %s", want.code, want.appended, want.recorded)
	result, err := s.through.CreateEvent(s.b.ctx, req)
	require.Equal(s.t, want.code, world.ErrorCode(err), "%v", err)
	s.compareLength(req.RunID)
	run := s.model.runs[req.RunID]
	if want.code != "" {
		return
	}
	if result.Run != nil {
		require.Equal(s.t, run.status, result.Run.Status)
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

// repeat makes a call again that was applied before.
func (s *sequence) repeat(first appliedCall) {
	s.t.Helper()
	s.note(first.req, "the same again")
	result, err := s.through.CreateEvent(s.b.ctx, first.req)
	require.NoError(s.t, err)
	if first.req.Type == world.EventRunStarted { // brings the log as it is now
		result.Events, result.Cursor, result.HasMore = first.result.Events, first.result.Cursor, first.result.HasMore
	}
	require.Equal(s.t, first.result, result)
	s.compareLength(first.req.RunID)
}

func (s *sequence) compareLength(runID string) {
	s.t.Helper()
	n, err := s.b.redis.Client.ZCard(s.b.ctx, s.b.keys.of(runID).order()).Result()
	require.NoError(s.t, err)
	require.Len(s.t, s.model.runs[runID].log, int(n), "events in the log: %d", n)
}

func (s *sequence) existing() []string {
	var out []string
	for _, runID := range s.runIDs {
		require.Equal(s.t, s.model.runs[runID].status != "", s.exists(s.b, runID))
		if s.model.runs[runID].status != "" {
			out = append(out, runID)
		}
	}
	return out
}

// compare holds what is stored against the model.
func (s *sequence) compare() {
	s.t.Helper()
	now := s.b.now()
	for runID, want := range s.model.runs {
		var log []modelEvent
		for _, e := range s.b.events(runID) {
			log = append(log, modelEvent{e.Type, e.CorrelationID})
		}
		require.Equal(s.t, want.log, log)
		run, err := s.b.GetRun(s.b.ctx, runID, true)
		require.Equal(s.t, want.status == "", world.ErrorCode(err) == world.CodeRunNotFound)
		require.Equal(s.t, want.status, run.Status)
		steps, err := s.b.ListSteps(s.b.ctx, world.StepQuery{RunID: runID})
		require.NoError(s.t, err)
		got := map[string]*modelStep{}
		for _, step := range steps.Data {
			got[step.StepID] = &modelStep{status: world.RunStatus(step.Status), attempt: step.Attempt, retryAfter: step.RetryAfter}
		}
		require.Equal(s.t, want.steps, got)
	}
	for token, holder := range s.model.tokens {
		hook, err := s.b.GetHookByToken(s.b.ctx, token, true)
		if !holder.lives(now) {
			require.Equal(s.t, world.CodeHookNotFound, world.ErrorCode(err), "token %s", token)
			continue
		}
		require.NoError(s.t, err)
		require.Equal(s.t, []any{holder.id, token, holder.run}, []any{hook.HookID, hook.Token, s.model.runs[hook.RunID]})
		require.NoError(s.t, s.b.redis.Client.Get(s.b.ctx, s.b.keys.claim(rediskey.Hash(token))).Err())
	}
}
