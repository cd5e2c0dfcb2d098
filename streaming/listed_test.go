package streaming_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/streaming"
)

// A new master may lack the entry of a stream in its run's list, which this process has written and remembers. The next
// append or close writes it again, even the one that notices the new master, because it may be the last one.
func TestAStreamIsListedAgainWhereAMasterLacksIt(t *testing.T) {
	t.Parallel()
	appending := func(s *streaming.Service) error {
		_, err := s.AppendChunks(t.Context(), world.Append{Name: "a", RunID: "wrun_1", Chunks: raw("2")})
		return err
	}
	closing := func(s *streaming.Service) error {
		return s.CloseStream(t.Context(), world.StreamClose{Name: "a", RunID: "wrun_1"})
	}
	for name, call := range map[string]func(*streaming.Service) error{"append": appending, "close": closing} {
		for _, when := range []string{"before", "during"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				r := redistest.New(t)
				take := &takeover{list: r.Prefix + "streams:by_run:{wrun_1}", admin: r.Client}
				client := redistest.Client(t, r.Addr)
				client.AddHook(take)
				s := start(t, client, r.Prefix, neverAudit, func(c *streaming.Config) { c.Dials = take.dials.Load })
				write(t, s, "a", "1")
				require.Equal(t, []string{"a"}, r.Client.ZRange(t.Context(), take.list, 0, -1).Val())
				if when == "before" {
					take.over(t.Context())
				} else {
					take.armed.Store(true)
				}
				require.NoError(t, call(s))
				require.Equal(t, uint64(1), take.dials.Load())
				require.Equal(t, []string{"a"}, r.Client.ZRange(t.Context(), take.list, 0, -1).Val())
			})
		}
	}
}

// takeover is a change of master: a connection is opened, and the list of the run's streams is gone.
type takeover struct {
	list  string
	admin redis.UniversalClient
	dials atomic.Uint64
	armed atomic.Bool // it comes before the next script
}

func (t *takeover) over(ctx context.Context) {
	t.dials.Add(1)
	t.admin.Del(ctx, t.list)
}

func (t *takeover) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t *takeover) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && t.armed.Swap(false) {
			t.over(ctx)
		}
		return next(ctx, cmd)
	}
}

func (t *takeover) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
