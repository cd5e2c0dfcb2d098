package queue

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	reportInterval = 2 * time.Minute
	reportKept     = 5 * time.Minute
	// reportLasts is how long one report, which is of several commands, may take.
	reportLasts = 4 * time.Second
)

// reports thins out what asynq's heartbeat writes: every 5 s, which servers there are and
// what they work on, with the whole body of each message in work. asynq's tools get the
// servers, less often; they find the messages in the queue.
type reports struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether asynq may tell Redis now that its server is there.
func (r *reports) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	since := now.Sub(r.last)
	if since >= reportInterval {
		r.last = now
		return true
	}
	return since < reportLasts
}

// thin drops the bodies from a report of a server's state, and ok is false when it is not
// due at all. Other scripts, such as the one that takes a server off the list, pass.
func (r *reports) thin(keys []string, args []any) (thinned []any, ok bool) {
	if len(keys) != 2 || !strings.HasPrefix(keys[1], "asynq:workers:") || len(args) < 2 {
		return args, true
	}
	return []any{reportKept.Seconds(), args[1]}, r.due()
}

// ZAdd serves asynq's lists of servers and workers, which a report begins with.
func (b *backend) ZAdd(ctx context.Context, key string, members ...redis.Z) *redis.IntCmd {
	if !b.reports.due() {
		cmd := redis.NewIntCmd(ctx)
		cmd.SetVal(0)
		return cmd
	}
	for i := range members {
		members[i].Score = float64(time.Now().Add(reportKept).Unix())
	}
	ctx, cancel := context.WithTimeout(ctx, asynqTimeout)
	defer cancel()
	return b.UniversalClient.ZAdd(ctx, key, members...)
}
