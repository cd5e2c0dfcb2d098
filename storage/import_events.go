package storage

import (
	"context"
	"fmt"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/rediskey"
	"github.com/world-redis/world-redis/storage/internal/record"
)

const (
	// importAtOnce and importBytes bound the events that are sent in one round trip.
	importAtOnce = 100
	importBytes  = 1 << 20
)

// replay applies the events of the copy that are not in the log yet, in order.
func (i *runImport) replay(ctx context.Context) error {
	b := importBatch{runImport: i}
	for part, err := range i.copy.Parts {
		if err != nil {
			return err
		}
		if part.Event == nil {
			break
		}
		there, err := i.isThere(ctx, part.Event)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := b.add(ctx, *part.Event); err != nil {
			return err
		}
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	return i.checkEnd(ctx)
}

// isThere reports whether an event of the copy is one of those that an interrupted import has written. In a foreign log, some may
// have been left out.
func (i *runImport) isThere(ctx context.Context, e *world.Event) (bool, error) {
	if i.passed == i.have {
		return false, nil
	}
	if i.copy.Foreign {
		here, err := i.store.readEvent(ctx, i.runID(), i.passed)
		if err != nil {
			return false, err
		}
		if !sameEvent(here, *e) {
			return true, nil // it was left out
		}
	}
	i.passed++
	return true, nil
}

// checkEnd compares the state that follows from the events with that of the copy.
func (i *runImport) checkEnd(ctx context.Context) error {
	run, found, err := i.store.peekRun(ctx, i.runID())
	want := &i.copy.Run
	switch {
	case err != nil:
		return err
	case !found:
		return badCopy(i.runID(), "has no events")
	case i.copy.Foreign && run.WorkflowName == want.WorkflowName:
		want.Status = run.Status
		return nil
	case run.Status != want.Status || run.WorkflowName != want.WorkflowName:
		return badCopy(i.runID(), "says that the run is "+string(want.Status)+"; after its events it is "+string(run.Status))
	case int64(i.position) != i.copy.Events:
		return badCopy(i.runID(), fmt.Sprintf("should have %d events, and has %d", i.copy.Events, i.position))
	}
	return nil
}

// importBatch collects events that are sent together.
type importBatch struct {
	*runImport
	events []world.Event
	bytes  int
}

func (b *importBatch) add(ctx context.Context, e world.Event) error {
	size := 0
	for _, f := range e.Data {
		size += len(f.Value)
	}
	if len(b.events) > 0 && (len(b.events) == importAtOnce || b.bytes+size > importBytes) {
		if err := b.send(ctx); err != nil {
			return err
		}
	}
	b.events, b.bytes = append(b.events, e), b.bytes+size
	return nil
}

// send applies the events in order. Each says which event must be the last before it. So those after one that was not applied,
// because it was refused or Redis had forgotten its script, are refused, too, and are sent again.
func (b *importBatch) send(ctx context.Context) error {
	for tries := 0; len(b.events) > 0; tries++ {
		calls, err := b.calls(ctx)
		if err != nil {
			return err
		}
		done, refused, err := b.applied(ctx, b.store.send.RunInOrder(ctx, luascript.Batch{Calls: calls})[0])
		if done > 0 {
			b.last, b.position, tries = max(b.last, b.events[done-1].CreatedAt), b.position+done, 0
		}
		b.events = b.events[done:]
		if refused && b.copy.Foreign {
			b.left, b.events, tries, err = b.left+1, b.events[1:], 0, nil
		}
		if err != nil && (refused || tries > 3) {
			return err
		}
	}
	b.bytes = 0
	return nil
}

// calls returns the script calls of the events that are to be sent.
func (b *importBatch) calls(ctx context.Context) ([]luascript.Call, error) {
	calls := make([]luascript.Call, len(b.events))
	last := b.last
	for at, e := range b.events {
		var end *world.LogEnd
		if position := b.position + at; position > 0 {
			end = &world.LogEnd{Position: position - 1, CreatedAt: last}
		}
		call, err := b.callOf(ctx, e, end)
		if err != nil {
			return nil, err
		}
		calls[at], last = call, max(last, e.CreatedAt)
	}
	return calls, nil
}

// applied returns how many of the first events are at their places, and the error of the next one. refused says that its script
// refused it.
func (b *importBatch) applied(ctx context.Context, answers []luascript.Answer) (done int, refused bool, err error) {
	for at, a := range answers {
		if a.Err != nil {
			return at, false, b.store.failIn(ctx, b.runID(), a.Err)
		}
		r := record.Reply(a.Reply)
		code, err := r.Code()
		if err != nil {
			return at, false, fail(err)
		}
		position := r.Number(2)
		if code == codeReplayed || code == codeRecorded {
			position = r.Number(3)
		}
		if want := b.position + at; code < 0 || code == codeUnchanged || position != want {
			return at, true, badCopy(b.runID(), fmt.Sprintf("has a %s at %d that the events before it do not allow", b.events[at].Type, want))
		}
	}
	return len(answers), false, nil
}

// callOf returns the script call that applies an event as it was applied first.
func (b *importBatch) callOf(ctx context.Context, e world.Event, end *world.LogEnd) (luascript.Call, error) {
	s := b.store
	req := world.CreateEvent{
		RunID: b.runID(), RequestID: "import " + e.EventID, Type: e.Type, CorrelationID: e.CorrelationID,
		SpecVersion: e.SpecVersion, Data: e.Data, OccurredAt: e.OccurredAt, ResumeID: e.ResumeID, ResolveNone: true,
		LogEnd: end,
	}
	c := s.newCall(req)
	c.now = e.CreatedAt
	p, err := b.planOf(ctx, c)
	if err != nil {
		return luascript.Call{}, err
	}
	keys, args, err := c.input(p.keys, p.args)
	return luascript.Call{Script: p.script, Keys: keys, Args: args}, fail(err)
}

// planOf returns the script of an event with its own keys and arguments.
func (b *importBatch) planOf(ctx context.Context, c *call) (*plan, error) {
	s, spec := b.store, strconv.Itoa(b.copy.Run.SpecVersion)
	if b.copy.Run.SpecVersion <= 1 {
		return b.planLegacy(), nil
	}
	switch c.req.Type {
	case world.EventRunCreated:
		attributes := firstAttributes(c.req.Data)
		return &plan{script: s.scripts.runCreate, keys: []string{c.keys.removed()}, args: append([]any{spec}, attributes...)},
			s.mayKeepNothing(ctx, c.req.RunID, attributes)
	case world.EventRunStarted:
		return &plan{script: s.scripts.runStart, keys: []string{c.keys.removed()}, args: []any{spec, "", "", 0, preloadBytes}}, nil
	case world.EventRunCompleted:
		return b.planEnd(c, world.RunCompleted, outputField), nil
	case world.EventRunFailed:
		return b.planEnd(c, world.RunFailed, errorField), nil
	case world.EventRunCancelled:
		return b.planEnd(c, world.RunCancelled, ""), nil
	case world.EventAttrSet:
		return b.planAttributes(ctx, c)
	case world.EventHookConflict:
		return &plan{script: s.scripts.hookConflict}, nil
	case world.EventHookCreated, world.EventHookReceived, world.EventHookDisposed:
		return b.planHook(c), nil
	}
	p, err := s.planOf(c)
	if p == nil && err == nil {
		err = badCopy(c.req.RunID, "has an event of the type "+strconv.Quote(string(c.req.Type)))
	}
	return p, err
}

func (b *importBatch) planEnd(c *call, status world.RunStatus, reference string) *plan {
	return &plan{
		script: b.store.scripts.runEnd, keys: []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended()},
		args: []any{string(status), reference},
	}
}

func (b *importBatch) planAttributes(ctx context.Context, c *call) (*plan, error) {
	changes, err := changesOf(c.req.Data)
	if err != nil {
		return nil, err
	}
	args := attributeArgs(changes, false)
	return &plan{script: b.store.scripts.attrSet, args: args}, b.store.mayKeepNothing(ctx, c.req.RunID, args[1:])
}

func (b *importBatch) planHook(c *call) *plan {
	s := b.store
	switch c.req.Type {
	case world.EventHookReceived:
		return &plan{script: s.scripts.hookReceive, keys: []string{c.keys.hooks(), c.keys.resumes()}, args: []any{c.req.ResumeID, "", flag(false)}}
	case world.EventHookDisposed:
		return &plan{script: s.scripts.hookDispose, keys: []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks()}}
	}
	retained := ""
	if until, ok := record.MillisField(c.req.Data, "tokenRetentionUntil"); ok {
		retained = strconv.FormatInt(int64(until), 10)
	}
	return &plan{
		script: s.scripts.hookCreate, keys: []string{c.keys.hooks(), c.keys.hooksOrder(), c.keys.fence()},
		args: []any{s.ids.New().String(), rediskey.Hash(record.TextField(c.req.Data, "token")), retained, hookPlace(c.req.CorrelationID)},
	}
}
