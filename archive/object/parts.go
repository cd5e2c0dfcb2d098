package object

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/world-redis/world-redis"
)

// errStopped ends a read whose caller wants no more parts.
var errStopped = errors.New("stopped")

// Parts implements world.Archive. An object is read from its beginning each time.
func (a *Archive) Parts(ctx context.Context, runID string, want world.ArchivedParts) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		give := func(part world.RunPart) error {
			if want.ResolveNone {
				part = withoutValues(part)
			}
			if !yield(part, nil) {
				return errStopped
			}
			return nil
		}
		var err error
		switch {
		case want.Backwards && (want.Kind == world.PartEvents || want.Kind == world.PartSteps):
			err = a.backwards(ctx, runID, want, give)
		case want.Kind == world.PartChunks:
			err = a.chunks(ctx, runID, want, give)
		default:
			err = a.forwards(ctx, runID, want, give)
		}
		if err != nil && !errors.Is(err, errStopped) && !errors.Is(err, errNoObject) {
			yield(world.RunPart{}, err)
		}
	}
}

// each calls f with each part of a run until it returns an error.
func (a *Archive) each(ctx context.Context, runID string, f func(world.RunPart) error) error {
	r, err := a.read(ctx, runID)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	for {
		part, err := r.Part()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(part)
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// isOf reports whether a part is of a kind.
func isOf(part world.RunPart, kind world.PartKind) bool {
	switch kind {
	case world.PartEvents:
		return part.Event != nil
	case world.PartSteps:
		return part.Step != nil
	case world.PartStreams:
		return part.Stream != nil
	case world.PartAll:
		return true
	default:
		return false
	}
}

// after reports whether no part of a kind can follow this one.
func after(part world.RunPart, kind world.PartKind) bool {
	switch kind {
	case world.PartEvents:
		return part.Event == nil
	case world.PartSteps:
		return part.Event == nil && part.Step == nil
	default:
		return false
	}
}

func (a *Archive) forwards(ctx context.Context, runID string, want world.ArchivedParts, give func(world.RunPart) error) error {
	position := int64(0)
	return a.each(ctx, runID, func(part world.RunPart) error {
		switch {
		case after(part, want.Kind):
			return errStopped
		case !isOf(part, want.Kind):
			return nil
		case want.Kind == world.PartEvents:
			if position++; position <= want.From {
				return nil
			}
		}
		return give(part)
	})
}

// windowParts is how many parts are held while a run is read backwards. Further ones cost another read of the object.
const windowParts = 1000

// backwards reads the object once for each window of parts, the last one first.
func (a *Archive) backwards(ctx context.Context, runID string, want world.ArchivedParts, give func(world.RunPart) error) error {
	total := int64(0)
	held, err := a.window(ctx, runID, want, func(i int64) bool { total = i + 1; return true })
	if err != nil {
		return err
	}
	for {
		for _, part := range slices.Backward(held) {
			if err := give(part); err != nil {
				return err
			}
		}
		if total -= int64(len(held)); total <= 0 || len(held) == 0 {
			return nil
		}
		last := total
		if held, err = a.window(ctx, runID, want, func(i int64) bool { return i < last }); err != nil {
			return err
		}
	}
}

// window returns the last parts that are wanted.
func (a *Archive) window(ctx context.Context, runID string, want world.ArchivedParts, within func(i int64) bool) ([]world.RunPart, error) {
	var held []world.RunPart
	next := int64(0)
	err := a.each(ctx, runID, func(part world.RunPart) error {
		if after(part, want.Kind) {
			return errStopped
		}
		if !isOf(part, want.Kind) {
			return nil
		}
		i := next
		if next++; want.Kind == world.PartEvents && i > want.From || !within(i) {
			return errStopped
		}
		if len(held) == 2*windowParts { // move rarely
			held = append(held[:0], held[windowParts:]...)
		}
		held = append(held, part)
		return nil
	})
	if errors.Is(err, errStopped) {
		err = nil
	}
	return held[max(0, len(held)-windowParts):], err
}

// chunks gives a stream and its chunks from an index on.
func (a *Archive) chunks(ctx context.Context, runID string, want world.ArchivedParts, give func(world.RunPart) error) error {
	found := false
	return a.each(ctx, runID, func(part world.RunPart) error {
		switch {
		case part.Stream != nil && found:
			return errStopped
		case part.Stream != nil && part.Stream.Name == want.Stream:
			found = true
			return give(part)
		case part.Chunk != nil && found && part.Chunk.Index >= want.From:
			return give(part)
		}
		return nil
	})
}

// withoutValues leaves out what resolveData 'none' does.
func withoutValues(part world.RunPart) world.RunPart {
	switch {
	case part.Event != nil:
		if key := part.Event.Type.PayloadKey(); key != "" && part.Event.Data.Has(key) {
			if part.Event.Data = part.Event.Data.Without(key); len(part.Event.Data) == 0 {
				part.Event.Data = nil
			}
		}
	case part.Step != nil:
		part.Step.Input, part.Step.Output = nil, nil
	case part.Hook != nil:
		part.Hook.Metadata = nil
	}
	return part
}
