package storage

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// A copy is of one moment: that at which a script has read the run and the length of its log (lua/run_copy.lua). Events never change,
// so the rest of a long log may be read later. Steps are made from the events up to that length, as step_mend.lua does, and so are
// the hooks of a run that has not ended. So both are of the same moment, even if the run has gone on since.
//
// Runs of spec 1 have no events of steps and hooks. These are read as they are, which is the same once the run has ended.

const (
	// copyEvents and copyBytes bound the part of a log that is read together with its run.
	copyEvents = 100
	copyBytes  = 64 << 10
	// copiesAtOnce is how many runs are read in one pipeline.
	copiesAtOnce = 100
	// copiesBytes is about how many bytes the copies of one call may hold.
	copiesBytes = 32 << 20
)

var _ world.RunCopier = (*Store)(nil)

// CopyRuns implements world.RunCopier. The copies have no streams. Their parts are read with ctx.
func (s *Store) CopyRuns(ctx context.Context, runIDs []string) ([]*world.RunCopy, error) {
	for _, runID := range runIDs {
		if err := world.CheckID("runId", runID); err != nil {
			return nil, err
		}
	}
	if err := world.CheckList("run id", runIDs, world.MaxGetRuns); err != nil {
		return nil, err
	}
	out := make([]*world.RunCopy, 0, len(runIDs))
	held := 0
	for len(out) < len(runIDs) {
		part := runIDs[len(out):min(len(runIDs), len(out)+copiesAtOnce)]
		copies, err := s.beginCopies(ctx, part)
		if err != nil {
			return nil, err
		}
		for i, c := range copies {
			if c != nil && held > 0 && held+c.bytes > copiesBytes {
				copies = copies[:i]
				break
			}
			if c != nil {
				held += c.bytes
			}
		}
		if err := s.fillCopies(ctx, copies); err != nil {
			return nil, err
		}
		for _, c := range copies {
			out = append(out, c.result(ctx))
		}
		if len(copies) < len(part) {
			break
		}
	}
	return out, nil
}

// copying is the copy of one run.
type copying struct {
	measure
	store  *Store
	runID  string
	fields record.Reply // of the run
	first  []world.Event
	total  int  // events in the log
	hooks  int  // hooks in the run's slot
	legacy bool // a run of spec 1
	ended  bool
	refs   []reference // events with the run's values that are not in first
	run    world.Run
	failed error // the run cannot be copied
}

// reference is an event to which a field points.
type reference struct {
	position string
	reply    record.Reply // of event_read; nil if the event is gone
}

// beginCopies reads runs and the beginnings of their logs; nil where there is no such run. The bytes of each are known then, and
// what is missing.
func (s *Store) beginCopies(ctx context.Context, runIDs []string) ([]*copying, error) {
	cmds, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, runID := range runIDs {
			k := s.keys.of(runID)
			s.scripts.runCopy.Queue(ctx, p, []string{k.run(), k.events(), k.hooks()}, copyEvents, copyBytes)
		}
		return nil
	})
	if len(cmds) != len(runIDs) {
		return nil, fail(err)
	}
	out := make([]*copying, len(runIDs))
	for i, cmd := range cmds {
		r, err := cmd.(*redis.Cmd).Slice()
		if luascript.Lost(err) {
			k := s.keys.of(runIDs[i])
			r, err = s.scripts.runCopy.Run(ctx, s.redis, []string{k.run(), k.events(), k.hooks()}, copyEvents, copyBytes)
		}
		if out[i], err = s.beginCopy(runIDs[i], r, err); err != nil {
			return nil, err
		}
	}
	return out, s.measureRefs(ctx, out)
}

// beginCopy reads the reply of run_copy.
func (s *Store) beginCopy(runID string, answer record.Reply, err error) (*copying, error) {
	c := &copying{store: s, runID: runID}
	if isLost(err) {
		c.failed = err
		return c, nil
	}
	if err != nil {
		return nil, fail(err)
	}
	code, err := answer.Code()
	if err != nil {
		return nil, fail(err)
	}
	if code != codeDone {
		return nil, nil //nolint:nilnil // as documented
	}
	c.total, c.hooks, c.fields = answer.Number(1), answer.Number(2), answer.List(3)
	c.entity(s.keys.of(runID).run(), "", c.fields)
	log := answer.List(4)
	c.log("", 0, 1, log)
	if c.first, c.failed = decodeEvents(runID, 0, 1, false, log); c.failed != nil {
		return c, nil //nolint:nilerr // it is an error of this run only
	}
	e := record.Entity{RunID: runID, Fields: c.fields}
	c.legacy = e.Millis("v") <= 1
	c.ended = world.RunStatus(e.Get("s")).Terminal()
	for _, field := range []string{"ie", outputField, errorField} {
		if position := e.Get(field); position != "" && record.Int(position) >= len(c.first) {
			c.refs = append(c.refs, reference{position: position})
		}
	}
	return c, nil
}

// isLost reports whether a script found that an event is gone from the log.
func isLost(err error) bool { return err != nil && strings.Contains(err.Error(), lostMark) }

// measureRefs reads the events with the values of runs, or their lengths.
func (s *Store) measureRefs(ctx context.Context, copies []*copying) error {
	var inputs []scriptInput
	for _, c := range copies {
		if c != nil {
			inputs = append(inputs, s.readsOf(c.runID, c.refs)...)
		}
	}
	replies, err := s.runMany(ctx, s.scripts.eventRead, inputs)
	if err != nil {
		return err
	}
	for _, c := range copies {
		if c == nil {
			continue
		}
		if err := c.measureRefs(s.keys.of(c.runID).events(), c.refs, replies[:len(c.refs)]); err != nil {
			return err
		}
		replies = replies[len(c.refs):]
	}
	return nil
}

// readsOf are the calls of event_read for references.
func (s *Store) readsOf(runID string, refs []reference) []scriptInput {
	k := s.keys.of(runID)
	inputs := make([]scriptInput, len(refs))
	for i, ref := range refs {
		inputs[i] = scriptInput{keys: []string{k.run(), k.events()}, args: []any{ref.position, want(false), entryRoom / 16}}
	}
	return inputs
}

// measureRefs takes the replies of event_read, and counts what they lack.
func (m *measure) measureRefs(events string, refs []reference, replies []record.Reply) error {
	for i, r := range replies {
		code, err := r.Code()
		if err != nil {
			return fail(err)
		}
		if code != codeDone {
			continue
		}
		position := refs[i].position
		refs[i].reply = r
		m.record(events, func() string { return position }, r, 1)
	}
	return nil
}

// fillCopies reads the values that runs lack, and builds the runs.
func (s *Store) fillCopies(ctx context.Context, copies []*copying) error {
	var gaps []gap
	for _, c := range copies {
		if c != nil {
			gaps = append(gaps, c.gaps...)
		}
	}
	if err := s.fill(ctx, gaps); err != nil {
		return err
	}
	for _, c := range copies {
		if c != nil && c.failed == nil {
			c.failed = c.build()
		}
	}
	return nil
}

// build makes the run.
func (c *copying) build() error {
	e := record.Entity{RunID: c.runID, Fields: c.fields}
	for _, field := range []string{"ie", outputField, errorField} {
		if position := e.Get(field); position != "" && record.Int(position) < len(c.first) {
			e.Place(position, c.first[record.Int(position)])
		}
	}
	if err := place(&e, c.refs); err != nil {
		return err
	}
	c.run = e.Run(false)
	c.fields, c.refs, c.gaps = nil, nil, nil
	return nil
}

// place adds events that were read to an entity. One that is gone is left out.
func place(e *record.Entity, refs []reference) error {
	for _, ref := range refs {
		if ref.reply == nil {
			continue
		}
		event, err := record.Decode(e.RunID, record.Int(ref.position), ref.reply.Text(1), ref.reply.Bytes(2))
		if err != nil {
			return err
		}
		e.Place(ref.position, event)
	}
	return nil
}

// result is what CopyRuns returns of the run.
func (c *copying) result(ctx context.Context) *world.RunCopy {
	if c == nil {
		return nil
	}
	if c.failed != nil {
		c.run.RunID = c.runID
	}
	return &world.RunCopy{Run: c.run, Events: int64(c.total), Parts: c.parts(ctx)}
}
