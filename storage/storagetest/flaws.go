package storagetest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
)

// flaw spoils a request; code is what it is then refused with, "" when there is nothing to spoil.
type flaw func(m *mix, req *world.CreateEvent) (code world.Code)

func flawed(code world.Code, spoil func(m *mix, req *world.CreateEvent), kinds ...world.EventType) flaw {
	return func(m *mix, req *world.CreateEvent) world.Code {
		if !slices.Contains(kinds, req.Type) {
			return ""
		}
		spoil(m, req)
		return code
	}
}

// without takes an entry of eventData away.
func without(key string) func(*mix, *world.CreateEvent) {
	return func(_ *mix, req *world.CreateEvent) { req.Data = req.Data.Without(key) }
}

// with puts another value for an entry of eventData.
func with(key string, value any) func(*mix, *world.CreateEvent) {
	return func(m *mix, req *world.CreateEvent) {
		req.Data = append(req.Data.Without(key), Data(m.by[7].T, key, value)...)
	}
}

func changing(pairs ...any) func(*mix, *world.CreateEvent) {
	return func(m *mix, req *world.CreateEvent) { req.Data = m.by[7].Changes(writerWorkflow, pairs...) }
}

var everyKind = []world.EventType{
	world.EventRunCreated, world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled,
	world.EventAttrSet, world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepCompleted,
	world.EventStepFailed, world.EventHookCreated, world.EventHookReceived, world.EventHookDisposed, world.EventWaitCreated,
	world.EventWaitCompleted,
}

// flaws of what a client may send (contract §2.5, §3.5).
func flaws() []flaw {
	const invalid, attribute = world.CodeInvalid, world.CodeAttributeInvalid
	ofEntities, ofOthers := everyKind[6:], everyKind[1:]
	bad := func(m *mix, ids ...string) string { return ids[m.rng.IntN(len(ids))] }
	return []flaw{
		flawed(invalid, func(m *mix, req *world.CreateEvent) {
			req.Type = world.EventType(bad(m, "hook_conflict", "noop", "", "step_created ", "STEP_CREATED"))
		}, everyKind...),
		flawed(invalid, func(m *mix, req *world.CreateEvent) {
			req.CorrelationID = bad(m, "", "a b", "{x}", strings.Repeat("x", 257), "ü", "a/b", "a\x00")
		}, ofEntities...),
		flawed(invalid, func(m *mix, req *world.CreateEvent) { req.RunID = bad(m, "", "a b", "{x}", "*", "a\nb") }, ofOthers...),
		flawed(invalid, func(m *mix, req *world.CreateEvent) { req.SinceCursor = bad(m, "?", "AAAA", strings.Repeat("x", 5000)) }, everyKind...),
		flawed(invalid, func(m *mix, req *world.CreateEvent) {
			age := []time.Duration{-10 * time.Minute, 25 * time.Hour}[m.rng.IntN(2)]
			at := ulid.Timestamp(m.by[7].Clock.Now().Add(-age))
			req.RunID = "wrun_" + ulid.MustNew(at, ulid.DefaultEntropy()).String()
		}, world.EventRunCreated),
		flawed(invalid, func(_ *mix, req *world.CreateEvent) { req.RunID = "wrun_1" }, world.EventRunCreated),
		flawed(invalid, without("deploymentId"), world.EventRunCreated),
		flawed(invalid, with("workflowName", 1), world.EventRunCreated),
		flawed(invalid, without("stepName"), world.EventStepCreated),
		flawed(invalid, without("token"), world.EventHookCreated),
		flawed(invalid, with("token", strings.Repeat("t", world.MaxToken+1)), world.EventHookCreated),
		flawed(invalid, func(m *mix, req *world.CreateEvent) {
			with("tokenRetentionUntil", m.by[7].Clock.Now().Add(30*24*time.Hour+time.Millisecond).UnixMilli())(m, req)
		}, world.EventHookCreated),
		flawed(invalid, with("resumeAt", "soon"), world.EventWaitCreated),
		flawed(invalid, with("retryAfter", "soon"), world.EventStepRetrying),
		flawed(attribute, with("attributes", []string{"a"}), world.EventRunCreated),
		flawed(attribute, with("attributes", map[string]any{"a": nil}), world.EventRunCreated, world.EventRunStarted),
		flawed(attribute, with("changes", "a"), world.EventAttrSet),
		flawed(attribute, without("writer"), world.EventAttrSet),
		flawed(attribute, with("writer", map[string]any{"type": "world"}), world.EventAttrSet),
		flawed(attribute, changing("", "1"), world.EventAttrSet),
		flawed(attribute, changing("$root", "1"), world.EventAttrSet),
		flawed(attribute, changing("a", "1", "b", "2", "a", nil), world.EventAttrSet),
		flawed(attribute, changing("a", strings.Repeat("é", 129)), world.EventAttrSet),
		flawed(attribute, changing(strings.Repeat("k", 257), "1"), world.EventAttrSet),
		flawed(attribute, with("note", strings.Repeat("n", world.MaxAttributeData)), world.EventAttrSet),
	}
}

// invalid draws a call and spoils it.
func (m *mix) invalid() (world.CreateEvent, world.Code) {
	if m.flaws == nil {
		m.flaws = flaws()
	}
	made, calls := maps.Clone(m.made), m.calls // a refused call makes nothing
	req := m.next()
	m.made, m.calls = made, calls
	req.RequestID += " invalid"
	for {
		if code := m.flaws[m.rng.IntN(len(m.flaws))](m, &req); code != "" {
			return req, code
		}
	}
}
