package streaming

import (
	"context"

	"github.com/world-redis/world-redis"
)

// closePart makes the digests of closing calls differ from those of writing calls with the same request id.
const closePart = -1

// CloseStream implements [world.StreamStore]. Closing a stream that was never written creates an empty closed one.
func (s *Service) CloseStream(ctx context.Context, c world.StreamClose) error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if err := checkSteps(c.Steps); err != nil {
		return err
	}
	if err := s.list(ctx, c.RunID, c.Name); err != nil {
		return err
	}
	if c.RequestID == "" {
		c.RequestID = s.minter.New().String()
	}
	keys, buckets := s.keys(c.Name), s.requestKeys(c.Name, s.clock.Now())
	_, err := s.scripts.close.Run(ctx, s.client,
		[]string{keys.stream, keys.meta, keys.channel, buckets[0], buckets[1], buckets[2]},
		requestDigest(c.RequestID, closePart), int(requestTTL.Seconds()), stepList(c.Steps), int(lifeOf(c.Name).Seconds()))
	if err != nil {
		return redisError(ctx, err)
	}
	return s.list(ctx, c.RunID, c.Name) // as after an append
}
