package streaming

import "context"

// CloseStream implements [world.StreamStore]. Closing a stream that nobody wrote makes an
// empty closed one.
func (s *Service) CloseStream(ctx context.Context, name, runID string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := s.list(ctx, runID, name); err != nil {
		return err
	}
	keys := s.keys(name)
	if _, err := s.scripts.close.Run(ctx, s.client, []string{keys.stream, keys.meta, keys.channel}, ""); err != nil {
		return redisError(ctx, err)
	}
	return nil
}
