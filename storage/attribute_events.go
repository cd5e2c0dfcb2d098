package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// setAttributes applies attr_set. A workflow writes each of its changes once, under a
// correlation id; a step's writes have none and are all applied.
func (s *Store) setAttributes(ctx context.Context, c *call) (world.EventResult, error) {
	changes, err := changesOf(c.req.Data)
	if err != nil {
		return world.EventResult{}, err
	}
	once := writerOf(c.req.Data) == writerWorkflow && c.req.CorrelationID != ""
	args := attributeArgs(changes, once)
	if err := s.mayKeepNothing(ctx, c.req.RunID, args[1:]); err != nil {
		return world.EventResult{}, err
	}
	o, err := s.apply(ctx, c, s.scripts.attrSet, nil, args...)
	if err != nil {
		return world.EventResult{}, err
	}
	return s.runResult(ctx, c, o, o.rest)
}

// attributeArgs are the arguments that only attr_set.lua has.
func attributeArgs(changes []change, once bool) []any {
	args := append(make([]any, 0, 1+2*len(changes)), flag(once))
	for _, ch := range changes {
		value := "-"
		if ch.Value != nil {
			value = "=" + *ch.Value
		}
		args = append(args, ch.Key, value)
	}
	return args
}

// runAsOf is [record.Entity.RunAsOf] with the attributes that the run had then.
func (s *Store) runAsOf(ctx context.Context, e record.Entity, at record.Stored, resolveNone bool) (world.Run, error) {
	r := e.RunAsOf(at, resolveNone)
	position := record.Int(at.Position)
	moved := at.Event.Type == world.EventAttrSet || e.Get("ap") != "" && !e.Before("ap", position)
	if !at.Replayed || r.Status.Terminal() || !moved {
		return r, nil
	}
	past, err := s.pastOf(ctx, e.RunID, position)
	if err != nil {
		return r, err
	}
	r.StartedAt = past.startedAt
	if r.SpecVersion >= record.FirstAttributeSpec {
		r.Attributes = record.EncodeAttributes(past.attributes)
	}
	if past.startedAt == 0 {
		r.Status = world.RunPending
	}
	return r, nil
}

// past is what a run was like at some event.
type past struct {
	attributes map[string]string
	startedAt  world.Millis
}

// pastOf folds the log of a run up to and including a position. It is needed only when a call is repeated after its run has
// changed.
func (s *Store) pastOf(ctx context.Context, runID string, position int) (past, error) {
	p := past{attributes: map[string]string{}}
	q := world.EventQuery{RunID: runID, ResolveNone: true}
	for at := 0; at <= position; {
		q.Page.Limit = min(position+1-at, maxLimit)
		page, err := s.ListEvents(ctx, q)
		if err != nil {
			return p, err
		}
		for _, e := range page.Data {
			p.apply(e)
		}
		if at += len(page.Data); !page.HasMore {
			break
		}
		q.Page.Cursor = page.Cursor
	}
	return p, nil
}

func (p *past) apply(e world.Event) {
	switch e.Type {
	case world.EventRunCreated:
		first := firstAttributes(e.Data)
		for i := 0; i < len(first); i += 2 {
			p.attributes[first[i].(string)] = first[i+1].(string)
		}
	case world.EventRunStarted:
		p.startedAt = e.CreatedAt
	case world.EventAttrSet:
		changes, err := changesOf(e.Data)
		if err != nil {
			return // it was checked before it was stored
		}
		for _, ch := range changes {
			if ch.Value == nil {
				delete(p.attributes, ch.Key)
			} else {
				p.attributes[ch.Key] = *ch.Value
			}
		}
	}
}
