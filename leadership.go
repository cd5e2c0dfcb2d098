package world

import "context"

// Leadership elects the leader: the one process of a namespace that does a task on behalf of all. For a short time
// there may be two, for example after a process was paused between the check and the work. So the leader's writes
// must be harmless if another process makes them, too.
type Leadership interface {
	// Await returns true as soon as this process leads, and false when ctx ends first.
	Await(ctx context.Context) bool
	// Lead runs a portion of work if this process leads, and reports whether it does. The portion's context ends
	// before another process can lead; the portion's result is then discarded, and Lead returns false and no error.
	Lead(ctx context.Context, portion func(ctx context.Context) error) (bool, error)
}

// Alone is the Leadership of a process that has its namespace to itself: it always leads.
type Alone struct{}

// Await implements Leadership.
func (Alone) Await(ctx context.Context) bool { return ctx.Err() == nil }

// Lead implements Leadership.
func (Alone) Lead(ctx context.Context, portion func(ctx context.Context) error) (bool, error) {
	return true, portion(ctx)
}
