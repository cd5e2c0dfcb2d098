package storage

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// Prepared is an event that is ready to be sent together with other things. [Store.CreateEvent] sends an event by itself.
type Prepared struct {
	Batch luascript.Batch // what to send
	store *Store
	call  *call
	plan  *plan
}

// Prepare returns an event that is ready to be sent. ok is false if CreateEvent has to apply or refuse it: it is not valid, or
// not of a step or a wait, so it may take more than one script.
func (s *Store) Prepare(ctx context.Context, req world.CreateEvent) (prepared *Prepared, ok bool) {
	if s.checkEvent(&req) != nil {
		return nil, false
	}
	c := s.newCall(req)
	p, err := s.planOf(c)
	if p == nil || err != nil {
		return nil, false
	}
	batch, err := s.batchOf(ctx, c, p)
	if err != nil {
		return nil, false
	}
	return &Prepared{Batch: batch, store: s, call: c, plan: p}, true
}

// Finish returns what CreateEvent returns, from the answers to the Batch. first is false if the event was not applied by what
// was sent, but later by this call: whatever was sent after it then came before the event.
func (p *Prepared) Finish(ctx context.Context, answers []luascript.Answer) (result world.EventResult, first bool, err error) {
	o, err := p.store.readOutcome(ctx, p.call, answers[0].Reply, answers[0].Err)
	first = err == nil
	result, err = p.store.finish(ctx, p.call, p.plan, o, err)
	result, err = p.store.answerOf(ctx, p.call, result, err)
	return result, first, err
}

// batchOf returns what a plan sends.
func (s *Store) batchOf(ctx context.Context, c *call, p *plan) (luascript.Batch, error) {
	keys, args, err := c.input(p.keys, p.args)
	if err != nil {
		return luascript.Batch{}, fail(err)
	}
	return luascript.Batch{Front: s.frontOf(ctx, c, p), Calls: []luascript.Call{{Script: p.script, Keys: keys, Args: args}}}, nil
}
