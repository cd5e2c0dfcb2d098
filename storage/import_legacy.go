package storage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// A run of spec 1 has its values in its entities, and its log says nothing of them (legacy.go). So an import writes the entities as
// they are, which may be repeated, and appends the events.

// writeLegacy writes a run of spec 1.
func (i *runImport) writeLegacy(ctx context.Context) error {
	r := i.copy.Run
	fields := legacyFields(r.Status, r.CreatedAt, r.UpdatedAt, r.StartedAt, r.CompletedAt)
	fields = append(fields, "d", r.DeploymentID, "n", r.WorkflowName)
	fields = addRaw(fields, "in", r.Input, "out", r.Output, "er", r.Error, "xc", r.ExecutionContext)
	if err := i.store.redis.HSet(ctx, i.keys.run(), fields...).Err(); err != nil {
		return fail(err)
	}
	b := importBatch{runImport: i}
	for part, err := range i.copy.Parts {
		switch {
		case err != nil:
			return err
		case part.Event != nil && i.passed < i.have:
			i.passed++
		case part.Event != nil:
			err = b.add(ctx, *part.Event)
		case part.Step != nil:
			err = i.writeLegacyStep(ctx, part.Step)
		case part.Hook != nil:
			err = i.writeLegacyHook(ctx, part.Hook)
		case part.Stream != nil:
			return b.send(ctx)
		}
		if err != nil {
			return err
		}
	}
	return b.send(ctx)
}

// legacyFields are the scalars of an entity.
func legacyFields(status any, created, updated, started, completed world.Millis) []any {
	fields := []any{"s", status, "c", int64(created), "u", int64(updated)}
	switch s := status.(type) {
	case world.RunStatus:
		fields[1] = string(s)
	case world.StepStatus:
		fields[1] = string(s)
	}
	if started != 0 {
		fields = append(fields, "sa", int64(started))
	}
	if completed != 0 {
		fields = append(fields, "ca", int64(completed))
	}
	return fields
}

// addRaw adds pairs of a field and a value, unless the value is absent.
func addRaw(fields []any, pairs ...any) []any {
	for at := 0; at+1 < len(pairs); at += 2 {
		if value, _ := pairs[at+1].(world.Raw); value != nil {
			fields = append(fields, pairs[at], []byte(value))
		}
	}
	return fields
}

func (i *runImport) writeLegacyStep(ctx context.Context, step *world.Step) error {
	fields := legacyFields(step.Status, step.CreatedAt, step.UpdatedAt, step.StartedAt, step.CompletedAt)
	fields = append(fields, "a", step.Attempt, "n", step.StepName)
	if step.RetryAfter != 0 {
		fields = append(fields, "ra", int64(step.RetryAfter))
	}
	fields = addRaw(fields, "in", step.Input, "out", step.Output, "er", step.Error)
	_, err := i.store.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, i.store.keys.locator(step.StepID), step.StepID, i.runID())
		p.HSet(ctx, i.keys.step(step.StepID), fields...)
		p.ZAdd(ctx, i.keys.steps(), redis.Z{Score: float64(step.CreatedAt), Member: step.StepID})
		return nil
	})
	return fail(err)
}

func (i *runImport) writeLegacyHook(ctx context.Context, h *world.HookCopy) error {
	encoded, payload, err := legacyHookRecord(world.CreateLegacyHook{RunID: i.runID(), HookID: h.HookID, Token: h.Token, Metadata: h.Metadata})
	if err != nil {
		return fail(err)
	}
	known, err := i.store.redis.HExists(ctx, i.keys.hooks(), h.HookID).Result()
	if err != nil || known {
		return fail(err)
	}
	created := strconv.FormatInt(int64(h.CreatedAt), 10)
	place := hookPlace(h.HookID)
	if place == "" {
		place = created
	}
	score, err := strconv.ParseFloat(place, 64)
	if err != nil {
		return fail(err)
	}
	_, err = i.store.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, i.keys.events(), "hook/"+h.HookID, created+string(encoded))
		if len(payload) > 0 {
			p.HSet(ctx, i.keys.events(), "hook/"+h.HookID+"/p", payload)
		}
		p.HSet(ctx, i.keys.hooks(), h.HookID, legacyPosition+" "+i.store.ids.New().String()+" "+rediskey.Hash(h.Token))
		p.ZAdd(ctx, i.keys.hooksOrder(), redis.Z{Score: score, Member: h.HookID})
		return nil
	})
	return fail(err)
}

// planLegacy appends an event, and nothing else.
func (b *importBatch) planLegacy() *plan {
	return &plan{script: b.store.scripts.legacyAppend, args: []any{flag(false)}}
}
