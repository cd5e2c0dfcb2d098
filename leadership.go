package world

import "context"

// Leadership tells which process of a namespace does what one of them does for all: the leader. There may be two for a
// moment, as when a process stands still between its question and what it does then; so what a leader writes must do no
// harm when another one writes it, too.
type Leadership interface {
	// Await returns true as soon as this process leads, and false when ctx ends before.
	Await(ctx context.Context) bool
	// Lead does a portion of work if this process leads, and reports whether it does. The portion's context ends before
	// another process can lead; then what the portion returns is of no interest, and Lead returns false and no error.
	Lead(ctx context.Context, portion func(ctx context.Context) error) (bool, error)
}

// Alone is the Leadership of a process that shares its namespace with no other: it leads.
type Alone struct{}

// Await implements Leadership.
func (Alone) Await(ctx context.Context) bool { return ctx.Err() == nil }

// Lead implements Leadership.
func (Alone) Lead(ctx context.Context, portion func(ctx context.Context) error) (bool, error) {
	return true, portion(ctx)
}
