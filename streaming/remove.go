package streaming

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/luascript"
)

// removedFor is how long what refuses late writers of a removed run's streams is kept.
const removedFor = time.Hour

// RemoveRuns purges the streams of runs that are being removed, so that they accept no more, and lets what is left of them expire. Runs
// with few streams take the same round trips together. As with a purge, the runs are marked first. Calling it again changes nothing.
func (s *Service) RemoveRuns(ctx context.Context, runIDs []string) error {
	if len(runIDs) == 0 {
		return nil
	}
	mark := redis.Z{Score: float64(s.clock.Now().UnixMilli()), Member: purgedMark}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, runID := range runIDs {
			p.ZAddNX(ctx, s.runKey(runID), mark)
		}
		return nil
	})
	if err != nil {
		return redisError(ctx, err)
	}
	for left, from := runIDs, int64(0); len(left) > 0; from += purgePage {
		names, more, err := s.streamsOf(ctx, left, from)
		if err != nil {
			return err
		}
		if err := s.removeStreams(ctx, names); err != nil {
			return err
		}
		left = more
	}
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, runID := range runIDs {
			p.Del(ctx, s.emptiesKey(runID))
			p.Expire(ctx, s.runKey(runID), removedFor)
		}
		return nil
	})
	if err != nil {
		return redisError(ctx, err)
	}
	return nil
}

// streamsOf returns a page of the streams of each run, and the runs that may have more.
func (s *Service) streamsOf(ctx context.Context, runIDs []string, from int64) (names, more []string, err error) {
	pages := make([]*redis.StringSliceCmd, len(runIDs))
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, runID := range runIDs {
			pages[i] = p.ZRange(ctx, s.runKey(runID), from, from+purgePage-1)
		}
		return nil
	})
	if err != nil {
		return nil, nil, redisError(ctx, err)
	}
	for i, page := range pages {
		for _, name := range page.Val() {
			if name != purgedMark {
				names = append(names, name)
			}
		}
		if len(page.Val()) == purgePage {
			more = append(more, runIDs[i])
		}
	}
	return names, more, nil
}

// removeStreams purges streams, and lets what is left of them expire.
func (s *Service) removeStreams(ctx context.Context, names []string) error {
	for len(names) > 0 {
		part := names[:min(purgePage, len(names))]
		names = names[len(part):]
		cmds, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, name := range part {
				k := s.keys(name)
				s.scripts.purge.Queue(ctx, p, []string{k.stream, k.meta, k.channel})
			}
			return nil
		})
		if err != nil && !luascript.Lost(err) {
			return redisError(ctx, err)
		}
		for i, cmd := range cmds {
			switch {
			case luascript.Lost(cmd.Err()):
				if err := s.purge(ctx, part[i]); err != nil {
					return err
				}
			case cmd.Err() != nil:
				return redisError(ctx, cmd.Err())
			}
		}
		_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, name := range part {
				s.queueExpiry(ctx, p, s.keys(name))
			}
			return nil
		})
		if err != nil {
			return redisError(ctx, err)
		}
	}
	return nil
}

// purgeLate purges a stream that was listed after its run was purged. If the run was removed, what is left of the stream expires.
func (s *Service) purgeLate(ctx context.Context, runID, name string) error {
	if err := s.purge(ctx, name); err != nil {
		return err
	}
	left, err := s.client.TTL(ctx, s.runKey(runID)).Result()
	if err != nil {
		return redisError(ctx, err)
	}
	if left <= 0 {
		return nil
	}
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		s.queueExpiry(ctx, p, s.keys(name))
		return nil
	})
	if err != nil {
		return redisError(ctx, err)
	}
	return nil
}

func (s *Service) queueExpiry(ctx context.Context, p redis.Pipeliner, keys streamKeys) {
	p.Expire(ctx, keys.meta, removedFor)
	p.Unlink(ctx, keys.second, keys.arriving)
}
