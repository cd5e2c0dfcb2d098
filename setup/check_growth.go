package setup

import (
	"context"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redismemory"
)

// fullWithin is how near the end of the memory must be for a warning.
const fullWithin = 14 * 24 * time.Hour

// Growth is how fast Redis grows: of a cluster the node that is full first.
type Growth struct {
	Node          string `json:"node,omitempty"`          // its address, in a cluster
	UsedBytes     int64  `json:"usedBytes"`               // used_memory
	LimitBytes    int64  `json:"limitBytes,omitempty"`    // maxmemory, otherwise the machine's memory; absent if neither is known
	BytesPerDay   int64  `json:"bytesPerDay"`             // may be negative
	RunsPerDay    int64  `json:"runsPerDay"`              // runs of the last day that are in Redis
	Estimated     bool   `json:"estimated"`               // from the memory that a run takes on average, because there are no measurements yet
	FullInSeconds int64  `json:"fullInSeconds,omitempty"` // absent if it is not known, or never
}

// checkGrowth says how fast Redis grows and when it is full. What cannot be known is said, and is no warning: checkMemory has that.
func (c *call) checkGrowth(ctx context.Context) error {
	o := c.options
	check := Check{Name: "growth", Verdict: OK}
	g, err := redismemory.Measure(ctx, o.Conn.Client, o.Prefix, []string{o.Prefix}, world.MillisOf(time.Now()))
	switch {
	case refused(err):
		check.Message = "unknown: " + err.Error()
	case err != nil:
		return err
	default:
		check.Message = g.String()
		c.report.Growth = growthOf(g)
		if g.FullIn > 0 && g.FullIn <= fullWithin {
			check.Verdict = Warn
			check.Advice = "Set WORKFLOW_WORLD_RETENTION, so that finished runs leave Redis, or give Redis more memory: when it is full, calls fail."
			if o.Retention {
				check.Advice = "Give Redis more memory, or shorten WORKFLOW_WORLD_RETENTION: when it is full, calls fail."
			}
		}
	}
	c.report.add(check)
	return nil
}

func growthOf(g redismemory.Growth) *Growth {
	if !g.Known {
		return nil
	}
	return &Growth{
		Node: g.Addr, UsedBytes: g.Used, LimitBytes: g.Ceiling(), BytesPerDay: g.PerDay, RunsPerDay: g.RunsDay,
		Estimated: g.Span == 0, FullInSeconds: int64(g.FullIn / time.Second),
	}
}
