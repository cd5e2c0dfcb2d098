// Package operations has the table of everything that the API can be asked for, and how each operation is decoded, done and encoded.
package operations

import (
	"context"
	"errors"

	"github.com/world-redis/world-redis"
)

// API makes the calls of one namespace, whatever carries them.
type API struct {
	Deps     Deps
	Draining <-chan struct{} // closed when the service begins to stop
}

// Deps are the parts that the API of one namespace stands on.
type Deps struct {
	Store   world.Store
	Queue   world.Queue
	Apps    world.AppRegistry
	Streams world.StreamStore
	// Admin shows and controls the queue; nil: its routes answer 404.
	Admin world.QueueAdmin
	// Forget is called for every run that an answer ends; nil: it is left out.
	Forget world.RunForgetter
	// Waker wakes runs for operators; nil: its route answers 404.
	Waker world.RunWaker
	// Lost lists answered calls that Redis lost; nil: its route answers 404.
	Lost func(ctx context.Context, p world.PageRequest) (world.Page[world.AnsweredCall], error)
	// CheckRun is CodeRunNotFound for a run that does not exist and is not about to; nil: any may exist.
	CheckRun func(ctx context.Context, runID string) error
	// InOrder writes an event and queues the message that follows it, together. ok is false when nothing was done: then they are
	// to be made one after the other. nil: they always are.
	InOrder func(ctx context.Context, event world.CreateEvent, message world.Message) (made EventAndMessage, ok bool)
	// Acknowledged returns the context for a call whose answer says that something was written; nil: its own.
	Acknowledged func(ctx context.Context) context.Context
}

// Check refuses parts that are not complete.
func (d Deps) Check() error {
	if d.Store == nil || d.Queue == nil || d.Apps == nil || d.Streams == nil {
		return errors.New("httpapi needs a Store, a Queue, an AppRegistry and a StreamStore")
	}
	return nil
}
