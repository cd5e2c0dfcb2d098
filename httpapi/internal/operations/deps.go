// Package operations has the table of everything that the API can be asked for, and how each operation is decoded, done and encoded.
package operations

import (
	"context"
	"errors"

	"github.com/world-redis/world-redis"
)

// API makes the calls of one namespace, over any transport.
type API struct {
	Deps     Deps
	Draining <-chan struct{} // closed when the service begins to stop
}

// Deps are the parts that the API of one namespace uses.
type Deps struct {
	Store   world.Store
	Queue   world.Queue
	Apps    world.AppRegistry
	Streams world.StreamStore
	// AppWarnings returns what is wrong with an app that has just registered; nil: nothing is known.
	AppWarnings func(ctx context.Context, a world.App) []world.AppWarning
	// Admin shows and controls the queue; if it is nil, its routes answer 404.
	Admin world.QueueAdmin
	// Forget is called for every run that a call has ended; nil disables it.
	Forget world.RunForgetter
	// Waker wakes runs for operators; if it is nil, its route answers 404.
	Waker world.RunWaker
	// Remover removes runs that have ended; if it is nil, its route answers 404.
	Remover world.RunRemover
	// Lost lists answered calls that Redis lost; if it is nil, its route answers 404.
	Lost func(ctx context.Context, p world.PageRequest) (world.Page[world.AnsweredCall], error)
	// CheckRun returns CodeRunNotFound for a run that does not exist and is not being created; nil disables the check.
	CheckRun func(ctx context.Context, runID string) error
	// InOrder writes an event and queues the message that follows it, in one round trip. If ok is false, nothing was done, and the
	// caller makes them one after the other. nil disables it.
	InOrder func(ctx context.Context, event world.CreateEvent, message world.Message) (made EventAndMessage, ok bool)
	// Acknowledged returns the context for a call whose answer confirms a write; if it is nil, the call keeps its context.
	Acknowledged func(ctx context.Context) context.Context
}

// Check returns an error if a required part is missing.
func (d Deps) Check() error {
	if d.Store == nil || d.Queue == nil || d.Apps == nil || d.Streams == nil {
		return errors.New("httpapi needs a Store, a Queue, an AppRegistry and a StreamStore")
	}
	return nil
}
