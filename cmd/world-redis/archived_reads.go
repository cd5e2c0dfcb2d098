package main

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/archived"
)

// readArchived lets the API go on from Redis into the archive, if there is one.
func (t *tenant) readArchived(deps *httpapi.Deps) {
	if t.archive == nil {
		return
	}
	store := &archived.Store{Store: deps.Store, Archive: t.archive, Logger: t.log, MaxEvents: t.store.MaxEvents()}
	deps.Store = store
	deps.Streams = &archived.Streams{StreamStore: deps.Streams, Runs: t.store, Archive: t.archive}
	deps.Remover = archived.Remover{RunRemover: deps.Remover, Archive: t.archive}
	if inOrder := deps.InOrder; inOrder != nil {
		deps.InOrder = func(ctx context.Context, event world.CreateEvent, message world.Message) (httpapi.EventAndMessage, bool) {
			made, ok := inOrder(ctx, event, message)
			if ok {
				made.Event, made.EventErr = store.Answer(ctx, event, made.Event, made.EventErr)
			}
			return made, ok
		}
	}
	check := deps.CheckRun
	deps.CheckRun = func(ctx context.Context, runID string) error {
		err := check(ctx, runID)
		if world.ErrorCode(err) != world.CodeRunNotFound {
			return err
		}
		_, err = store.GetRun(ctx, runID, true)
		return err
	}
}
