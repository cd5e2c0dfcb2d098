package storagetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// mix makes random calls to a few runs; each run has ids of its own, and all share the tokens.
type mix struct {
	rng    *rand.Rand
	by     map[int]*Caller // a caller for each spec version, for its eventData
	specs  map[string]int
	runIDs []string
	focus  string // the entities that most calls go to, so that these get on in their lives
	calls  int
	flaws  []flaw
	made   map[string][]madeEntity // by kind of entity: what a call has tried to create
}

type madeEntity struct {
	run int
	id  string
}

// newMix moves the clock to a place that depends on the seed alone.
func newMix(t *testing.T, s *Subject, seed uint64) *mix {
	t.Helper()
	m := &mix{
		rng: rand.New(rand.NewPCG(seed, 0)),
		by:  map[int]*Caller{3: s.on(t, 3), 7: s.on(t, 7)}, specs: map[string]int{}, made: map[string][]madeEntity{},
	}
	m.focus = []string{"step", "step", "hook", "hook", "wait", "attr", "r"}[m.rng.IntN(7)]
	c := m.by[3]
	minter := ids.NewMinter(c.Clock)
	const bucket = 20 * time.Minute
	c.Clock.Add(bucket - time.Duration(c.now())*time.Millisecond%bucket + time.Duration(m.rng.Int64N(int64(bucket))).Truncate(time.Millisecond))
	for range 2 + m.rng.IntN(2) {
		runID := minter.Prefixed("wrun_")
		m.runIDs = append(m.runIDs, runID)
		m.specs[runID] = []int{3, 7}[m.rng.IntN(2)]
	}
	return m
}

func (m *mix) chance(percent int) bool { return m.rng.IntN(100) < percent }

// weights says how often a type is drawn; the ends of runs are rare, or little else would happen.
var weights = []struct {
	kind   world.EventType
	weight int // of ten
}{
	{world.EventRunCreated, 1},
	{world.EventRunStarted, 4},
	{world.EventRunCompleted, 1},
	{world.EventRunFailed, 1},
	{world.EventRunCancelled, 1},
	{world.EventAttrSet, 3},
	{world.EventStepCreated, 5},
	{world.EventStepStarted, 10},
	{FirstStart, 5},
	{world.EventStepRetrying, 7},
	{world.EventStepCompleted, 4},
	{world.EventStepFailed, 3},
	{world.EventHookCreated, 7},
	{Retained, 7},
	{world.EventHookReceived, 10},
	{world.EventHookDisposed, 4},
	{world.EventWaitCreated, 7},
	{world.EventWaitCompleted, 7},
}

func (m *mix) kind() world.EventType {
	for {
		w := weights[m.rng.IntN(len(weights))]
		if m.rng.IntN(10) < w.weight && (strings.HasPrefix(string(w.kind), m.focus) || m.chance(25)) {
			return w.kind
		}
	}
}

// next draws a call. The first ones mostly create the runs.
func (m *mix) next() world.CreateEvent {
	run := min(m.rng.IntN(len(m.runIDs)), m.rng.IntN(len(m.runIDs)))
	kind := m.kind()
	if m.calls < len(m.runIDs) && m.chance(85) {
		run, kind = m.calls, world.EventRunCreated
	}
	m.calls++
	entity, verb, _ := strings.Cut(string(kind), "_")
	id := fmt.Sprintf("%s%d_%d", entity, run, m.rng.IntN(3))
	if made := m.made[entity]; !strings.HasPrefix(verb, "created") && len(made) > 0 && m.chance(85) {
		at := made[m.rng.IntN(len(made))]
		run, id = at.run, at.id
	} else if strings.HasPrefix(verb, "created") && entity != "run" {
		m.made[entity] = append(made, madeEntity{run, id})
	}
	runID := m.runIDs[run]
	c := m.by[m.specs[runID]]
	if c.Spec < 6 && kind == FirstStart {
		kind = world.EventStepStarted
	} else if c.Spec < 6 && kind == Retained {
		kind = world.EventHookCreated
	}
	fields := c.Sample(kind)
	switch {
	case IsRunEvent(kind):
		id = ""
	case kind == world.EventAttrSet:
		id, fields = m.changes(c, run)
	}
	switch kind {
	case world.EventRunCreated:
		fields = m.runData(c)
	case world.EventRunStarted:
		if m.chance(30) {
			fields = m.runData(c)
		}
	case world.EventStepRetrying:
		if m.chance(60) {
			fields = append(fields, Data(c.T, "retryAfter", c.Clock.Now().Add(time.Duration(m.rng.IntN(20))*time.Second).UnixMilli())...)
		}
	case world.EventHookCreated, Retained:
		token := id[len(id)-1] % 2 // a hook has one token, and others have the same
		fields = Data(c.T, "token", fmt.Sprintf("token %d", token), "metadata", []byte("meta"))
		if kind == Retained {
			fields = append(fields, Data(c.T, "tokenRetentionUntil", c.Clock.Now().Add(time.Duration(1+m.rng.IntN(60))*time.Second).UnixMilli())...)
		}
	}
	req := c.Request(runID, kind, id, fields)
	req.RequestID = fmt.Sprintf("call %d", m.calls)
	req.ResolveNone = m.chance(25)
	if c.Spec < 6 {
		return req
	}
	req.SkipPreload = m.chance(30)
	if m.chance(20) {
		count := m.rng.Int64N(12)
		req.EventCount = &count
	}
	if kind == world.EventHookReceived && m.chance(60) {
		req.ResumeID = fmt.Sprintf("resume_%d", m.rng.IntN(2))
		req.ResumePayloadDigest = []string{"", "d1", "d1", "d2"}[m.rng.IntN(4)]
	}
	return req
}
