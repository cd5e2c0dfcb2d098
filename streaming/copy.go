package streaming

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// copyPortion is how many bytes of chunks a copy reads at a time.
const copyPortion = 1 << 20

// CopyStreams returns, in the order of the ids, what yields the streams of each run with their chunks, as parts of its copy; nil for a
// run without streams. The lists of streams are read at once, the streams while they are iterated, with ctx. A stream is copied as it
// was when its iteration began. Each error is a [world.CopyError].
func (s *Service) CopyStreams(ctx context.Context, runIDs []string) ([]iter.Seq2[world.RunPart, error], error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	lists := make([]*redis.StringSliceCmd, len(runIDs))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			lists[i] = p.ZRange(ctx, s.runKey(runID), 0, namesAtOnce-1)
		}
		return nil
	})
	if err != nil {
		return nil, redisError(ctx, err)
	}
	out := make([]iter.Seq2[world.RunPart, error], len(runIDs))
	for i, list := range lists {
		if names := list.Val(); len(names) > 0 {
			out[i] = s.copyOf(ctx, runIDs[i], names)
		}
	}
	return out, nil
}

// streamCopier copies the streams of a run. yield returns false when no more parts are wanted.
type streamCopier struct {
	service *Service
	yield   func(world.RunPart, error) bool
	stopped bool
}

func (c *streamCopier) give(part world.RunPart) {
	c.stopped = c.stopped || !c.yield(part, nil)
}

// copyOf yields the streams of a run; names are the first of them.
func (s *Service) copyOf(ctx context.Context, runID string, names []string) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		c := &streamCopier{service: s, yield: yield}
		names := names
		for from := int64(0); ; {
			for _, name := range names {
				if name == purgedMark {
					continue
				}
				if err := c.stream(ctx, name); err != nil {
					yield(world.RunPart{}, &world.CopyError{RunID: runID, Err: err})
					return
				}
				if c.stopped {
					return
				}
			}
			if len(names) < namesAtOnce {
				return
			}
			from += namesAtOnce
			var err error
			if names, err = s.client.ZRange(ctx, s.runKey(runID), from, from+namesAtOnce-1).Result(); err != nil {
				yield(world.RunPart{}, &world.CopyError{RunID: runID, Err: redisError(ctx, err)})
				return
			}
		}
	}
}

// stream yields a stream and its chunks.
func (c *streamCopier) stream(ctx context.Context, name string) error {
	s, keys := c.service, c.service.keys(name)
	st, err := stateOf(keys, readState(ctx, s.client, keys))
	if err != nil {
		return redisError(ctx, err)
	}
	head := world.StreamCopy{Name: name, Count: st.count, Ends: endsOf(st)}
	first, err := s.readOn(ctx, name, wanted{most: listMost, room: listFirst})
	if err != nil {
		return err
	}
	if first.done && first.count == 0 && first.next == 0 { // it was purged, or its run keeps nothing
		head.Count, head.Ends = 0, []int64{0}
	}
	if c.give(world.RunPart{Stream: &head}); c.stopped {
		return nil
	}
	return c.chunks(ctx, head, first)
}

// endsOf returns the indexes of the recorded ends.
func endsOf(st state) []int64 {
	var out []int64
	for text := range strings.FieldsSeq(st.ends) {
		if end, err := strconv.ParseInt(text, 10, 64); err == nil && end < st.count {
			out = append(out, end)
		}
	}
	if st.done {
		out = append(out, st.count)
	}
	return out
}

// chunks yields the chunks below head.Count. p is the first page.
func (c *streamCopier) chunks(ctx context.Context, head world.StreamCopy, p page) error {
	from, room := int64(0), int64(copyPortion)
	for {
		for _, chunk := range p.chunks {
			if from = chunk.Index + 1; chunk.Index >= head.Count {
				return nil
			}
			if c.give(world.RunPart{Chunk: &chunk}); c.stopped {
				return nil
			}
		}
		if from >= p.count && p.next > 0 {
			from = p.next // the record at p.count is an end
		}
		if from >= head.Count {
			return nil
		}
		before := p
		before.chunks = nil
		if room < p.largest {
			room = p.largest
		}
		var err error
		if p, err = c.service.readOn(ctx, head.Name, wanted{from: from, most: listMost, room: room, before: before}); err != nil {
			return err
		}
		if len(p.chunks) == 0 && p.largest <= room && p.next == 0 {
			return world.Errorf(world.CodeRunNotFound, "chunks of its stream %q were removed meanwhile", head.Name)
		}
	}
}
