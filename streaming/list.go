package streaming

import (
	"context"
	"strconv"

	"github.com/world-redis/world-redis"
)

const (
	listDefault   = 100
	listMost      = world.MaxPage
	listPageBytes = 8 << 20
	// listPortion is how much of a page is read at a time, in bytes: Redis builds a whole reply before it sends it.
	listPortion = 1 << 20
	// listFirst is read before the size of the chunks is known.
	listFirst = 16 << 10
	// namesAtOnce is how many stream names are read at a time.
	namesAtOnce = 1000
)

// ListChunks implements [world.StreamStore]. A page holds up to 8 MiB; a larger chunk gets a page of its own. Unlike
// in other lists, the cursor is empty unless HasMore is set, and a cursor that cannot be read means the beginning, as
// the SDK's contract requires for streams (contract §6.2).
func (s *Service) ListChunks(ctx context.Context, name string, request world.PageRequest) (world.ChunkPage, error) {
	if err := checkName(name); err != nil {
		return world.ChunkPage{}, err
	}
	limit := request.Limit
	if limit <= 0 {
		limit = listDefault
	}
	from, err := strconv.ParseInt(request.Cursor, 10, 64)
	if err != nil || from < 0 || from >= maxIndex {
		from = 0
	}
	p, err := s.readList(ctx, name, from, int64(min(limit, listMost)))
	if err != nil {
		return world.ChunkPage{}, err
	}
	next := from + int64(len(p.chunks))
	if p.done || next < p.count {
		if err := s.checkRun(ctx, ownerOf(name)); err != nil {
			return world.ChunkPage{}, err
		}
	} else if s.config.Runs != nil {
		state, err := s.settled(ctx, func(ctx context.Context) (state, error) { return s.look(ctx, name) })
		if err != nil {
			return world.ChunkPage{}, err
		}
		if now := state.from(from); now.count == p.count {
			p.view = now
		}
	}
	result := world.ChunkPage{Done: p.done, Next: p.next}
	result.Data = p.chunks
	if next < p.count {
		result.HasMore = true
		result.Cursor = strconv.FormatInt(next, 10)
	}
	return result, nil
}

// StreamInfo implements [world.StreamStore].
func (s *Service) StreamInfo(ctx context.Context, name string, from int64) (world.StreamInfo, error) {
	if err := checkName(name); err != nil {
		return world.StreamInfo{}, err
	}
	state, err := s.settled(ctx, func(ctx context.Context) (state, error) { return s.look(ctx, name) })
	if err != nil {
		return world.StreamInfo{}, err
	}
	seen := state.from(from)
	return world.StreamInfo{TailIndex: seen.count - 1, Done: seen.done, Next: seen.next, Count: state.count}, nil
}

// readList reads the page of a list in portions. It reserves memory for each of them except a small first one, which
// tells the size of the chunks. The state in the result is that of the first portion.
func (s *Service) readList(ctx context.Context, name string, from, limit int64) (page, error) {
	list, err := s.readOn(ctx, name, wanted{from: from, most: limit, room: listFirst})
	if err != nil {
		return page{}, err
	}
	last := min(from+limit, list.count)
	room := listPageBytes - list.size()
	before := page{view: list.view, largest: list.largest}
	for {
		next := from + int64(len(list.chunks))
		if room <= 0 || next >= last {
			return list, nil
		}
		portion := max(min(room, listPortion, (last-next)*before.largest), before.largest)
		p, err := s.readPortion(ctx, name, wanted{from: next, most: last - next, room: portion, before: before})
		if err != nil {
			return page{}, err
		}
		size := p.size()
		switch {
		case p.done && p.count == 0: // it was purged, or its run has ended and keeps nothing
			return p, nil
		case len(p.chunks) == 0 && p.largest > portion: // they have become larger
			before.largest = p.largest
			continue
		case len(p.chunks) == 0, size > room && len(list.chunks) > 0: // they are gone, or this one goes alone
			world.GiveBack(ctx, size)
			return list, nil
		}
		list.chunks = append(list.chunks, p.chunks...)
		room -= size
	}
}

// readPortion reserves memory, reads a portion into it, and returns the unused memory.
func (s *Service) readPortion(ctx context.Context, name string, w wanted) (page, error) {
	if err := world.MakeRoom(ctx, w.room); err != nil {
		return page{}, err
	}
	p, err := s.readOn(ctx, name, w)
	world.GiveBack(ctx, w.room-p.size())
	return p, err
}

// ListStreams implements [world.StreamStore]; the oldest stream comes first. The cursor is a position in the list,
// which only grows.
func (s *Service) ListStreams(ctx context.Context, runID string, request world.PageRequest) (world.Page[string], error) {
	out := world.Page[string]{Data: []string{}}
	from := int64(0)
	if request.Cursor != "" {
		var err error
		if from, err = strconv.ParseInt(request.Cursor, 10, 64); err != nil || from < 0 || from >= maxIndex {
			return out, world.Errorf(world.CodeInvalid, "The cursor is not one of this list")
		}
	}
	if err := s.checkRun(ctx, runID); err != nil {
		return out, err
	}
	bytes := 0
	for {
		names, err := s.client.ZRange(ctx, s.runKey(runID), from, from+namesAtOnce-1).Result()
		if err != nil {
			return out, redisError(ctx, err)
		}
		size := 0
		for _, name := range names {
			size += len(name)
		}
		if err := world.MakeRoom(ctx, int64(size)); err != nil {
			return out, err
		}
		for i, name := range names {
			if name == purgedMark {
				continue
			}
			bytes += len(name)
			if len(out.Data) > 0 && (len(out.Data) == request.Limit || bytes > listPageBytes) {
				out.HasMore, out.Cursor = true, strconv.FormatInt(from+int64(i), 10)
				return out, nil
			}
			out.Data = append(out.Data, name)
		}
		if len(names) < namesAtOnce {
			return out, nil
		}
		from += namesAtOnce
	}
}
