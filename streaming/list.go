package streaming

import (
	"context"
	"slices"
	"strconv"

	"github.com/world-redis/world-redis"
)

const (
	listDefault   = 100
	listMost      = 1000
	listPageBytes = 8 << 20
)

// ListChunks implements [world.StreamStore]. A page ends early after 8 MiB, with HasMore.
// Unlike other lists, the cursor is empty unless HasMore, and one that cannot be read
// means the beginning: the SDK's contract has it so for streams.
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
	p, err := s.readPage(ctx, name, from, min(limit, listMost), listPageBytes)
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

// ListStreams implements [world.StreamStore]; the oldest stream comes first.
func (s *Service) ListStreams(ctx context.Context, runID string) ([]string, error) {
	if err := s.checkRun(ctx, runID); err != nil {
		return nil, err
	}
	names, err := s.client.ZRange(ctx, s.runKey(runID), 0, -1).Result()
	if err != nil {
		return nil, redisError(ctx, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == purgedMark }), nil
}
