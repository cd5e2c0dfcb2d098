package streaming

import (
	"context"
	"iter"
	"slices"

	"github.com/world-redis/world-redis"
)

// importStep stands for the step that closed a stream: only that step may write after an end. It is in no log, so after an import
// any step may.
const importStep = "import"

// ImportStreams writes the streams among the parts of a copy of a run, with the indexes that they had. What an interrupted import
// has written stays, and is not written again.
func (s *Service) ImportStreams(ctx context.Context, runID string, parts iter.Seq2[world.RunPart, error]) error {
	var i *streamImport
	for part, err := range parts {
		switch {
		case err != nil:
			return err
		case part.Stream != nil:
			if err := i.end(ctx); err != nil {
				return err
			}
			if i, err = s.beginImport(ctx, runID, part.Stream); err != nil {
				return err
			}
		case part.Chunk != nil && i == nil:
			return world.Errorf(world.CodeInvalid, "The copy of run %q has a chunk of no stream", runID)
		case part.Chunk != nil:
			if err := i.add(ctx, part.Chunk); err != nil {
				return err
			}
		}
	}
	return i.end(ctx)
}

// streamImport is the import of one stream.
type streamImport struct {
	service *Service
	runID   string
	copy    *world.StreamCopy
	next    int64 // index of the next record to write
	seen    int64 // index after the last chunk of the copy
	chunks  [][]byte
	bytes   int
}

func (s *Service) beginImport(ctx context.Context, runID string, c *world.StreamCopy) (*streamImport, error) {
	if err := checkName(c.Name); err != nil {
		return nil, err
	}
	keys := s.keys(c.Name)
	st, err := stateOf(keys, readState(ctx, s.client, keys))
	if err != nil {
		return nil, redisError(ctx, err)
	}
	return &streamImport{service: s, runID: runID, copy: c, next: st.records()}, nil
}

func (i *streamImport) steps() []world.StreamStep { return []world.StreamStep{{ID: importStep}} }

func (i *streamImport) add(ctx context.Context, chunk *world.Chunk) error {
	if chunk.Index < i.seen {
		return i.bad("has chunk %d after chunk %d", chunk.Index, i.seen-1)
	}
	if err := i.closeUpTo(ctx, chunk.Index); err != nil {
		return err
	}
	i.seen = chunk.Index + 1
	at := i.next + int64(len(i.chunks))
	if chunk.Index < at {
		return nil // it is there already
	}
	if chunk.Index > at {
		return i.bad("lacks chunk %d", at)
	}
	if len(i.chunks) == batchChunks || len(i.chunks) > 0 && i.bytes+len(chunk.Data) > batchBytes {
		if err := i.send(ctx); err != nil {
			return err
		}
	}
	i.chunks, i.bytes = append(i.chunks, chunk.Data), i.bytes+len(chunk.Data)
	return nil
}

// closeUpTo writes the ends from the last chunk of the copy up to an index.
func (i *streamImport) closeUpTo(ctx context.Context, index int64) error {
	for _, end := range i.copy.Ends {
		if end < i.seen || end > index {
			continue
		}
		if end < i.next+int64(len(i.chunks)) {
			i.seen = end + 1
			continue // it is there already
		}
		if err := i.send(ctx); err != nil {
			return err
		}
		if end != i.next {
			return i.bad("lacks chunk %d", i.next)
		}
		err := i.service.CloseStream(ctx, world.StreamClose{Name: i.copy.Name, RunID: i.runID, Steps: i.steps()})
		if err != nil {
			return err
		}
		i.next, i.seen = end+1, end+1
	}
	return nil
}

func (i *streamImport) send(ctx context.Context) error {
	if len(i.chunks) == 0 {
		return nil
	}
	first, err := i.service.AppendChunks(ctx, world.Append{Name: i.copy.Name, RunID: i.runID, Chunks: i.chunks, Steps: i.steps()})
	if err != nil {
		return err
	}
	if first != i.next {
		return world.Errorf(world.CodeConflict, "Stream %q was written while it was imported: chunk %d is at %d", i.copy.Name, i.next, first)
	}
	i.next, i.chunks, i.bytes = i.next+int64(len(i.chunks)), nil, 0
	return nil
}

// end writes what remains, and compares the number of chunks.
func (i *streamImport) end(ctx context.Context) error {
	if i == nil {
		return nil
	}
	if err := i.send(ctx); err != nil {
		return err
	}
	if err := i.closeUpTo(ctx, i.copy.Count); err != nil {
		return err
	}
	want := i.copy.Count
	if slices.Contains(i.copy.Ends, want) {
		want++
	}
	if i.next < want {
		return i.bad("lacks chunk %d", i.next)
	}
	if i.copy.Count == 0 && len(i.copy.Ends) == 0 {
		return i.service.list(ctx, i.runID, i.copy.Name) // it has a name and nothing else
	}
	return nil
}

func (i *streamImport) bad(format string, args ...any) error {
	return world.Errorf(world.CodeInvalid, "The copy of stream %q "+format, append([]any{i.copy.Name}, args...)...)
}
