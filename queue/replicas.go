package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
)

// A replica tells asynq's list of servers every two minutes that it is alive, as every build does. From the builds on that know
// removed runs, it enters itself into the replicas of its namespace first, with what it knows. So a server on asynq's list that is
// not there is one of an older build.

// Knowledge says what a build knows that older ones do not. It only grows.
type Knowledge int

const (
	// KnowsNothing is that of builds that do not announce themselves.
	KnowsNothing Knowledge = 0
	// KnowsRemovals is that of builds that never create a removed run anew.
	KnowsRemovals Knowledge = 1
)

// knowledge is that of this build.
const knowledge = KnowsRemovals

// Replica is a process that delivers messages of this queue, or did so within the last minutes.
type Replica struct {
	Host    string
	PID     int
	Version string // of its build; empty if it has not announced itself
	Knows   Knowledge
}

// replicasKey is a zset: "<knowledge> <version> <server>", score the s at which the entry lapses.
func (q *Queue) replicasKey() string { return q.cfg.KeyPrefix + "replicas" }

// announce enters a server of this process into the replicas.
func (q *Queue) announce(ctx context.Context, server string, until time.Time) error {
	member := strconv.Itoa(int(knowledge)) + " " + strings.ReplaceAll(q.cfg.Version, " ", "_") + " " + server
	_, err := q.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRemRangeByScore(ctx, q.replicasKey(), "-inf", strconv.FormatInt(time.Now().Unix()-1, 10))
		p.ZAdd(ctx, q.replicasKey(), redis.Z{Score: float64(until.Unix()), Member: member})
		p.ExpireAt(ctx, q.replicasKey(), until.Add(time.Hour))
		return nil
	})
	return err
}

// Replicas returns the replicas that deliver messages of this queue and have reported within the last five minutes. One that
// stopped without signing off is among them until then.
func (q *Queue) Replicas(ctx context.Context) ([]Replica, error) {
	servers, err := asynqbridge.Servers(ctx, q.redis)
	if err != nil {
		return nil, unreadable(fmt.Errorf("list of servers: %w", err))
	}
	entries, err := q.redis.ZRange(ctx, q.replicasKey(), 0, -1).Result()
	if err != nil {
		return nil, unreadable(fmt.Errorf("list of replicas: %w", err))
	}
	announced := map[string]Replica{}
	for _, entry := range entries {
		const parts = 3
		if p := strings.SplitN(entry, " ", parts); len(p) == parts {
			knows, _ := strconv.Atoi(p[0])
			announced[p[2]] = Replica{Version: p[1], Knows: Knowledge(knows)}
		}
	}
	type process struct {
		host string
		pid  int
	}
	at := map[process]int{} // a process has two servers, one for each queue
	var all []Replica
	for _, s := range servers {
		r, known := announced[s.Name]
		if !known && !s.Serves(q.flows.Name) && !s.Serves(q.steps.Name) {
			continue
		}
		r.Host, r.PID = s.Host, s.PID
		if i, again := at[process{s.Host, s.PID}]; !again {
			at[process{s.Host, s.PID}] = len(all)
			all = append(all, r)
		} else if r.Knows < all[i].Knows {
			all[i] = r
		}
	}
	return all, nil
}
