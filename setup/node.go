package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// node is one Redis server that accepts writes: each master of a cluster, otherwise the only server.
type node struct {
	addr   string // empty if there is only one
	client redis.UniversalClient

	info     map[string]string // INFO; nil if the server does not allow it
	settings map[string]string // CONFIG GET save and appendfsync; nil if the server does not allow it
}

func findNodes(ctx context.Context, conn *redisconn.Conn) ([]*node, error) {
	cluster, ok := conn.Client.(*redis.ClusterClient)
	if !ok {
		return []*node{{client: conn.Client}}, nil
	}
	var mu sync.Mutex
	var nodes []*node
	err := cluster.ForEachMaster(ctx, func(_ context.Context, client *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, &node{addr: client.Options().Addr, client: client})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the masters of the cluster: %w", err)
	}
	slices.SortFunc(nodes, func(a, b *node) int { return strings.Compare(a.addr, b.addr) })
	return nodes, nil
}

// ask asks all nodes and returns those that answer. away describes a node of a cluster that does not answer. If none
// answers, it returns an error.
func ask(ctx context.Context, all []*node) (nodes []*node, away string, err error) {
	for _, n := range all {
		failed := n.ask(ctx)
		if failed == nil {
			nodes = append(nodes, n)
			continue
		}
		if n.addr == "" {
			return nil, "", failed
		}
		err = failed
		away = fmt.Sprintf("node %s does not answer: %v", n.addr, failed)
	}
	if len(nodes) == 0 {
		return nil, "", err
	}
	return nodes, away, nil
}

// ask reads what the checks need. Managed servers and restricted users may forbid either command; only a broken
// connection is an error.
func (n *node) ask(ctx context.Context) error {
	text, err := n.client.Info(ctx).Result()
	if err != nil && !refused(err) {
		return fmt.Errorf("INFO: %w", err)
	}
	if err == nil {
		n.info = parseInfo(text)
	}
	n.settings = map[string]string{}
	for _, name := range []string{"save", "appendfsync"} {
		found, err := n.client.ConfigGet(ctx, name).Result()
		switch {
		case err == nil && len(found) > 0:
			n.settings[name] = found[name]
		case err == nil || refused(err):
			n.settings = nil
			return nil
		default:
			return fmt.Errorf("CONFIG GET: %w", err)
		}
	}
	return nil
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(name, "#") {
			info[name] = value
		}
	}
	return info
}

// refused reports that the server answered with a refusal.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// each checks every node and returns the worst result. If there are several nodes, it names the node.
func each(nodes []*node, check func(*node) Check) Check {
	worst := check(nodes[0])
	at := nodes[0]
	for _, n := range nodes[1:] {
		if c := check(n); c.Verdict.rank() > worst.Verdict.rank() {
			worst, at = c, n
		}
	}
	if len(nodes) > 1 && worst.Verdict != OK {
		worst.Message = "node " + at.addr + ": " + worst.Message
	}
	return worst
}
