package runindex

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

// Keys are the keys of the lists.
type Keys struct{ Prefix string }

// All is a zset of run ids, score the ms of the run's ULID.
func (k Keys) All() string { return k.Prefix + "runs:index" }

// ByName is the same for the runs of one workflow.
func (k Keys) ByName(name string) string { return k.Prefix + "runs:by_name:" + rediskey.Part(name) }

// ByStatus is the same for the runs of one status.
func (k Keys) ByStatus(status world.RunStatus) string {
	return k.Prefix + "runs:by_status:" + string(status)
}

// Watch is a zset of runs that recovery has to look at, score the ms since when: a run that is active, that waits for a message,
// or whose clean-up may be incomplete. A run that waits for its hooks alone is not in it.
func (k Keys) Watch() string { return k.Prefix + "runs:watch" }

// Due is a zset of runs that have ended, score the ms from which the sweeper looks at whether the run is to be removed. A run that is
// kept for ever is not in it.
func (k Keys) Due() string { return k.Prefix + "runs:due" }
