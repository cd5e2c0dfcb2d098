package storage

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// CreateBatch implements world.EventStore.
func (s *Store) CreateBatch(ctx context.Context, req world.CreateBatch) ([]world.BatchItem, error) {
	creators, err := s.prepareBatch(&req)
	if err != nil {
		return nil, err
	}
	b := s.newBatch(req, creators)
	r, err := s.sendBatch(ctx, b, req)
	if err != nil {
		return nil, s.failIn(ctx, req.RunID, err)
	}
	return s.batchItems(ctx, b, r.List(1))
}

// sendBatch runs the script. If the script finds steps that differ from their events it writes nothing; the steps are repaired,
// and the batch is sent once more.
func (s *Store) sendBatch(ctx context.Context, b *batch, req world.CreateBatch) (record.Reply, error) {
	keys, args, err := b.input()
	if err != nil {
		return nil, err
	}
	for range 2 {
		answer, err := s.send.RunAfter(ctx, func(p redis.Pipeliner) { s.locateBatch(ctx, p, req) }, s.scripts.batch, keys, args...)
		if err != nil {
			return nil, err
		}
		r := record.Reply(answer)
		switch code, err := r.Code(); {
		case err != nil:
			return nil, err
		case code == codeDone || code == codeReplayed:
			return r, nil
		case code != codeStepsWrong:
			return nil, errReply
		}
		for i := range r.List(1) {
			if _, err := s.mendStep(ctx, req.RunID, r.List(1).Text(i)); err != nil {
				return nil, err
			}
		}
	}
	return nil, errStepsWrong
}

var (
	errReply      = errors.New("a script's answer has an unknown form")
	errStepsWrong = errors.New("steps that were repaired differ from their events again")
)

// batch is a CreateBatch on its way to the script.
type batch struct {
	call  *call   // what the whole of it shares
	items []*call // one an event
	extra []string
}

func (s *Store) newBatch(req world.CreateBatch, creators []string) *batch {
	b := &batch{
		call:  s.newCall(world.CreateEvent{RunID: req.RunID, RequestID: req.RequestID, Type: "batch", ResolveNone: req.ResolveNone, LogEnd: req.LogEnd}),
		extra: creators,
	}
	for i, e := range req.Events {
		item := *b.call
		item.req, item.event, item.delta = e, eventOf(e), &delta{}
		b.items = append(b.items, &item)
		if retryAfter, ok := record.MillisField(e.Data, "retryAfter"); ok && e.Type == world.EventStepRetrying {
			b.extra[i] = strconv.FormatInt(int64(retryAfter), 10)
		}
	}
	return b
}

// input returns the keys and arguments of lua/batch.lua.
func (b *batch) input() ([]string, []any, error) {
	c := b.call
	keys := append(c.keys.event(c.now), c.keys.hooks(), c.keys.hooksOrder(), c.keys.leftHooks(), c.keys.ended(), c.keys.steps())
	args := append(make([]any, 0, 7+5*len(b.items)),
		c.request, strconv.FormatInt(int64(c.now), 10), "", "", "", c.want(), c.known())
	for i, item := range b.items {
		encoded, split, err := record.Encode(item.event)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, c.keys.step(item.event.CorrelationID))
		args = append(args, string(item.event.Type), item.event.CorrelationID, encoded, split, b.extra[i])
	}
	return keys, args, nil
}

// locateBatch stores the run of each new entity, for reads that name no run.
func (s *Store) locateBatch(ctx context.Context, p redis.Pipeliner, req world.CreateBatch) {
	for _, e := range req.Events {
		if e.Type == world.EventStepCreated || e.Type == world.EventWaitCreated {
			p.HSet(ctx, s.keys.locator(e.CorrelationID), e.CorrelationID, req.RunID)
		}
	}
}

// batchItems reads the replies of the events.
func (s *Store) batchItems(ctx context.Context, b *batch, replies record.Reply) ([]world.BatchItem, error) {
	if len(replies) != len(b.items) {
		return nil, fail(errReply)
	}
	out := make([]world.BatchItem, len(b.items))
	bytes := 0
	for i, item := range b.items {
		o, err := item.decodeOutcome(replies.List(i))
		if err == nil {
			m := b.entityOf(item, o)
			// Too much for one answer: the event is returned without its step.
			if bytes > 0 && bytes+m.bytes > deltaBytes && !endsRun(item.req.Type) {
				out[i].Result = world.EventResult{Event: item.answer(o.stored.Event)}
				continue
			}
			bytes += m.bytes
			if endsRun(item.req.Type) { // more is to be done with this one
				err = s.fill(world.WithRoom(ctx, nil), m.gaps)
			} else if err = s.fill(ctx, m.gaps); world.ErrorCode(err) == world.CodeOverBudget {
				out[i].Result = world.EventResult{Event: item.answer(o.stored.Event)}
				continue
			}
		}
		if err == nil {
			out[i].Result, err = s.batchResult(ctx, item, o)
		}
		if err == nil {
			continue
		}
		if o.code >= 0 || !errors.As(err, &out[i].Err) {
			return nil, err // not a refusal: something broke
		}
	}
	return out, nil
}

// entityOf counts what the entity in an answer takes.
func (b *batch) entityOf(c *call, o scriptOutcome) measure {
	var m measure
	switch c.req.Type {
	case world.EventWaitCreated, world.EventWaitCompleted:
	case world.EventRunCompleted, world.EventRunFailed:
		m.entity(c.keys.run(), c.keys.events(), o.rest.After(1))
	default:
		m.refs(c.keys.events(), o.rest.After(len(record.StepFields)))
	}
	return m
}

func (s *Store) batchResult(ctx context.Context, c *call, o scriptOutcome) (world.EventResult, error) {
	switch c.req.Type {
	case world.EventWaitCreated:
		return waitResult(ctx, c, o)
	case world.EventWaitCompleted:
		return waitEndResult(ctx, c, o)
	case world.EventRunCompleted:
		return s.endResult(ctx, c, o, world.RunCompleted)
	case world.EventRunFailed:
		return s.endResult(ctx, c, o, world.RunFailed)
	default:
		return s.stepResult(ctx, c, o)
	}
}
