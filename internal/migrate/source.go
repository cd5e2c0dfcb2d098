package migrate

import (
	"context"
	"iter"

	"github.com/world-redis/world-redis"
)

// Source is the data of another World.
type Source interface {
	// Runs yields all runs, oldest first. An error about one run is a [world.CopyError], and the next run follows it.
	Runs(ctx context.Context) iter.Seq2[*world.RunCopy, error]
	// Count is the number of runs.
	Count(ctx context.Context) (int, error)
	// State changes whenever the source is written.
	State(ctx context.Context) (string, error)
	Close() error
}
