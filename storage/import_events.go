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
	position := 0
	for part, err := range i.copy.Parts {
		if err != nil {
			return err
		}
		if part.Event == nil {
			break
		}
		if position >= i.have {
			if err := b.add(ctx, *part.Event, position); err != nil {
				return err
			}
		}
		position++
	}
	if position == 0 {
		return badCopy(i.runID(), "has no events")
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	if int64(position) != i.copy.Events {
		return badCopy(i.runID(), fmt.Sprintf("should have %d events, and has %d", i.copy.Events, position))
	}
	return i.checkEnd(ctx)
}

// checkEnd compares the state that follows from the events with that of the copy.
func (i *runImport) checkEnd(ctx context.Context) error {
	run, found, err := i.store.peekRun(ctx, i.runID())
	if err != nil {
		return err
	}
	if want := i.copy.Run; !found || run.Status != want.Status || run.WorkflowName != want.WorkflowName {
		return badCopy(i.runID(), "says that the run is "+string(want.Status)+"; after its events it is "+string(run.Status))
	}
	return nil
}

// importBatch collects events that are sent together.
type importBatch struct {
	*runImport
	calls []luascript.Call
	want  []int // their positions
	first []world.Event
	bytes int
}

func (b *importBatch) add(ctx context.Context, e world.Event, position int) error {
	call, err := b.callOf(ctx, e, position)
	if err != nil {
		return err
	}
	size := 0
	for _, f := range e.Data {
		size += len(f.Value)
	}
	if len(b.calls) > 0 && (len(b.calls) == importAtOnce || b.bytes+size > importBytes) {
		if err := b.send(ctx); err != nil {
			return err
		}
	}
	b.calls, b.want, b.first, b.bytes = append(b.calls, call), append(b.want, position), append(b.first, e), b.bytes+size
	b.last = e.CreatedAt
	return nil
}

// send applies the events in order. Each says which event must be the last before it. So if Redis has forgotten the script of one,
// those after it are refused, and it sends them again.
func (b *importBatch) send(ctx context.Context) error {
	for tries := 0; len(b.calls) > 0; tries++ {
		answers := b.store.send.RunInOrder(ctx, luascript.Batch{Calls: b.calls})[0]
		done, err := b.applied(answers)
		b.calls, b.want, b.first = b.calls[done:], b.want[done:], b.first[done:]
		if err != nil && (done == 0 || tries > 3) {
			return err
		}
	}
	b.bytes = 0
	return nil
}

// applied returns how many of the first events are at their places, and the error of the next one.
func (b *importBatch) applied(answers []luascript.Answer) (done int, err error) {
	for at, a := range answers {
		if a.Err != nil {
			return at, b.store.failIn(context.Background(), b.runID(), a.Err)
		}
		r := record.Reply(a.Reply)
		code, err := r.Code()
		if err != nil {
			return at, fail(err)
		}
		position := r.Number(2)
		if code == codeReplayed || code == codeRecorded {
			position = r.Number(3)
		}
		if code < 0 || code == codeUnchanged || position != b.want[at] {
			return at, badCopy(b.runID(), "has a "+string(b.first[at].Type)+" at "+strconv.Itoa(b.want[at])+" that the events before it do not allow")
		}
	}
	return len(answers), nil
}

// callOf returns the script call that applies an event as it was applied first.
func (b *importBatch) callOf(ctx context.Context, e world.Event, position int) (luascript.Call, error) {
	s := b.store
	req := world.CreateEvent{
		RunID: b.runID(), RequestID: "import " + strconv.Itoa(position) + " " + e.EventID, Type: e.Type, CorrelationID: e.CorrelationID,
		SpecVersion: e.SpecVersion, Data: e.Data, OccurredAt: e.OccurredAt, ResumeID: e.ResumeID, ResolveNone: true,
	}
	if position > 0 {
		req.LogEnd = &world.LogEnd{Position: position - 1, CreatedAt: b.last}
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
