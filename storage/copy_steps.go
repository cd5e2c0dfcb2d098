package storage

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// logState is what the events of a log make of its steps and hooks, without values.
type logState struct {
	steps map[string]*stepState
	hooks map[string]int // position of hook_created of each hook that is not disposed of
	made  map[string]int // the same for each hook that there ever was
}

func newLogState() *logState {
	return &logState{steps: map[string]*stepState{}, hooks: map[string]int{}, made: map[string]int{}}
}

// stepState is a step without its values, about 150 bytes.
type stepState struct {
	id                                string
	status                            world.StepStatus
	attempt                           int
	created, updated, started         world.Millis
	completed, retryAfter             world.Millis
	createdAt, completedAt, failureAt int // positions of the events that have its input, output and error; -1 for none
}

// add applies an event, as step_mend.lua and the scripts of hooks do.
func (l *logState) add(position int, e *world.Event) {
	switch e.Type {
	case world.EventHookCreated:
		l.hooks[e.CorrelationID], l.made[e.CorrelationID] = position, position
		return
	case world.EventHookDisposed:
		delete(l.hooks, e.CorrelationID)
		return
	case world.EventStepCreated:
		l.steps[e.CorrelationID] = &stepState{
			id: e.CorrelationID, status: world.StepPending, created: e.CreatedAt, updated: e.CreatedAt,
			createdAt: position, completedAt: -1, failureAt: -1,
		}
		return
	}
	step := l.steps[e.CorrelationID]
	if step == nil {
		return
	}
	step.add(position, e)
}

func (t *stepState) add(position int, e *world.Event) {
	switch e.Type {
	case world.EventStepStarted:
		t.status, t.retryAfter = world.StepRunning, 0
		t.attempt++
		if t.started == 0 {
			t.started = e.CreatedAt
		}
	case world.EventStepRetrying:
		t.status, t.failureAt = world.StepPending, position
		t.retryAfter, _ = record.MillisField(e.Data, "retryAfter")
	case world.EventStepCompleted:
		t.status, t.completedAt, t.completed = world.StepCompleted, position, e.CreatedAt
	case world.EventStepFailed:
		t.status, t.failureAt, t.completed = world.StepFailed, position, e.CreatedAt
	default:
		return
	}
	t.updated = e.CreatedAt
}

// entity is the step as the scripts keep it.
func (t *stepState) entity(runID string) record.Entity {
	e := record.Entity{RunID: runID}
	set := func(field string, n int64, absent int64) {
		if n != absent {
			e.Set(field, strconv.FormatInt(n, 10))
		}
	}
	e.Set("s", string(t.status))
	set("a", int64(t.attempt), -1)
	set("u", int64(t.updated), 0)
	set("sa", int64(t.started), 0)
	set("ca", int64(t.completed), 0)
	set("ra", int64(t.retryAfter), 0)
	set("ie", int64(t.createdAt), -1)
	set(outputField, int64(t.completedAt), -1)
	set(errorField, int64(t.failureAt), -1)
	return e
}

// positions are those of the events with the values of the step.
func (t *stepState) positions() []int {
	out := []int{t.createdAt}
	for _, position := range []int{t.completedAt, t.failureAt} {
		if position >= 0 {
			out = append(out, position)
		}
	}
	return out
}

// ordered returns the steps, oldest first, as ListSteps does.
func (l *logState) ordered() []*stepState {
	out := make([]*stepState, 0, len(l.steps))
	for _, step := range l.steps {
		out = append(out, step)
	}
	slices.SortFunc(out, func(a, b *stepState) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
	return out
}

// stepsAtOnce is how many steps of a long log are read at a time.
const stepsAtOnce = 50

// steps calls sink with the steps.
func (c *copying) steps(ctx context.Context, state *logState, sink partSink) error {
	for part := range slices.Chunk(state.ordered(), stepsAtOnce) {
		for len(part) > 0 {
			taken, err := c.someSteps(ctx, part, sink)
			if err != nil {
				return err
			}
			part = part[taken:]
		}
	}
	return nil
}

// someSteps calls sink with as many of the steps as may be in memory at a time, at least one.
func (c *copying) someSteps(ctx context.Context, steps []*stepState, sink partSink) (taken int, err error) {
	later := make([][]reference, len(steps))
	var all []reference
	for i, step := range steps {
		for _, position := range step.positions() {
			if position >= len(c.first) {
				later[i] = append(later[i], reference{position: strconv.Itoa(position)})
			}
		}
		all = append(all, later[i]...)
	}
	replies, err := c.store.runMany(ctx, c.store.scripts.eventRead, c.store.readsOf(c.runID, all))
	if err != nil {
		return 0, err
	}
	var m measure
	events := c.store.keys.of(c.runID).events()
	for ; taken < len(steps); taken++ {
		var one measure
		if err := one.measureRefs(events, later[taken], replies[:len(later[taken])]); err != nil {
			return 0, err
		}
		if taken > 0 && m.bytes+one.bytes > pageBytes {
			break
		}
		replies = replies[len(later[taken]):]
		m.bytes, m.gaps = m.bytes+one.bytes, append(m.gaps, one.gaps...)
	}
	if err := c.store.fill(ctx, m.gaps); err != nil {
		return 0, err
	}
	for i, step := range steps[:taken] {
		e := step.entity(c.runID)
		for _, position := range step.positions() {
			if position < len(c.first) {
				e.Place(strconv.Itoa(position), c.first[position])
			}
		}
		if err := place(&e, later[i]); err != nil {
			return 0, err
		}
		whole := e.Step(step.id, false)
		if err := sink(world.RunPart{Step: &whole}); err != nil {
			return 0, err
		}
	}
	return taken, nil
}
