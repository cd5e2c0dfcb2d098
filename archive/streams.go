package archive

import (
	"context"
	"iter"

	"github.com/world-redis/world-redis"
)

// WithStreams adds the streams of runs to their copies.
type WithStreams struct {
	Runs world.RunCopier
	// CopyStreams returns what yields the streams of each run, in the order of the ids; nil for a run without streams. It is nil if
	// streams are left out.
	CopyStreams func(ctx context.Context, runIDs []string) ([]iter.Seq2[world.RunPart, error], error)
}

// CopyRuns implements world.RunCopier.
func (w WithStreams) CopyRuns(ctx context.Context, runIDs []string) ([]*world.RunCopy, error) {
	copies, err := w.Runs.CopyRuns(ctx, runIDs)
	if err != nil || w.CopyStreams == nil {
		return copies, err
	}
	streams, err := w.CopyStreams(ctx, runIDs[:len(copies)])
	if err != nil {
		return nil, err
	}
	for i, c := range copies {
		if c != nil && streams[i] != nil {
			c.Parts = one(c.Parts, streams[i])
		}
	}
	return copies, nil
}

// one yields the parts of both.
func one(first, second iter.Seq2[world.RunPart, error]) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		for _, parts := range []iter.Seq2[world.RunPart, error]{first, second} {
			for part, err := range parts {
				if !yield(part, err) || err != nil {
					return
				}
			}
		}
	}
}
