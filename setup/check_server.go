package setup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redisconn"
)

const slowAnswer = 5 * time.Millisecond

// checkConnection measures the slowest node and takes the median of five answers, so that one outlier does not count.
func checkConnection(ctx context.Context, nodes []*node) (Check, error) {
	var took []time.Duration
	for range 5 {
		var slowest time.Duration
		for _, n := range nodes {
			begin := time.Now()
			if err := n.client.Ping(ctx).Err(); err != nil {
				return Check{}, fmt.Errorf("PING: %w", err)
			}
			slowest = max(slowest, time.Since(begin))
		}
		took = append(took, slowest)
	}
	slices.Sort(took)
	middle := took[len(took)/2]
	c := Check{Name: "connection", Verdict: OK, Message: fmt.Sprintf("answers in %.1f ms", float64(middle.Microseconds())/1000)}
	if middle > slowAnswer {
		c.Verdict = Warn
		c.Advice = "Run the service closer to Redis: every call waits for several round trips."
	}
	return c, nil
}

// serverName returns a name such as "Redis 7.2.5", and the version to compare.
func serverName(info map[string]string) (name, version string) {
	version = info["redis_version"]
	if version == "" {
		return "", ""
	}
	if valkey := info["valkey_version"]; valkey != "" {
		return "Valkey " + valkey, version
	}
	return "Redis " + version, version
}

func checkVersion(n *node) Check {
	c := Check{Name: "version", Verdict: OK}
	name, version := serverName(n.info)
	major, minor, ok := parseVersion(version)
	switch {
	case !ok:
		c.Verdict, c.Message = Warn, "unknown: the server does not report it"
		c.Advice = "Make sure that it is Redis 6.2 or newer, or Valkey."
	case major < 6 || major == 6 && minor < 2:
		c.Verdict, c.Message, c.Refuse = Fail, name+" is too old", true
		c.Advice = "Use Redis 6.2 or newer, or Valkey."
	default:
		c.Message = name
	}
	return c
}

func parseVersion(text string) (major, minor int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(parts[1])
	return major, minor, err == nil
}

// checkMode compares the mode of the address with the mode of the server.
func checkMode(mode redisconn.Mode) func(*node) Check {
	return func(n *node) Check {
		c := Check{Name: "mode", Verdict: OK, Message: string(mode)}
		reported, role := n.info["redis_mode"], n.info["role"]
		switch {
		case reported == "sentinel":
			c.Verdict, c.Message, c.Refuse = Fail, "the address is a Sentinel's, which has no data", true
			c.Advice = "Use redis+sentinel://host:port/0?master=<name>."
		case reported == "cluster" && mode != redisconn.Cluster:
			c.Verdict, c.Message, c.Refuse = Fail, "the server is a node of a cluster, and the address names only this one", true
			c.Advice = "Use redis+cluster://host:port,host:port."
		case role == "slave":
			c.Verdict, c.Message, c.Refuse = Fail, "the server is a replica and accepts no writes", true
			c.Advice = "Use the address of the master, or redis+sentinel:// to follow it."
		}
		return c
	}
}

// checkCluster checks whether every slot has a node.
func checkCluster(ctx context.Context, client redis.UniversalClient) (Check, error) {
	c := Check{Name: "cluster", Verdict: OK}
	text, err := client.ClusterInfo(ctx).Result()
	if err != nil && !refused(err) {
		return c, fmt.Errorf("CLUSTER INFO: %w", err)
	}
	info := parseInfo(text)
	switch state, slots := info["cluster_state"], info["cluster_slots_ok"]; {
	case state == "":
		c.Verdict, c.Message = Warn, "unknown: the server does not allow the check"
		c.Advice = "Make sure that all 16384 slots are covered."
	case state != "ok" || slots != "16384":
		c.Verdict, c.Message = Fail, fmt.Sprintf("state %s, %s of 16384 slots covered", state, slots)
		c.Advice = "Repair the cluster: redis-cli --cluster fix."
	default:
		c.Message = "all 16384 slots covered by " + info["cluster_size"] + " masters"
	}
	return c, nil
}
