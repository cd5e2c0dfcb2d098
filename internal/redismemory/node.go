package redismemory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Node is one Redis server that accepts writes: each master of a cluster, otherwise the only server. Sizes are bytes, 0 if the
// server does not report them.
type Node struct {
	Addr    string // host:port; empty if there is only one
	Used    int64  // used_memory
	Start   int64  // used_memory_startup: what an empty server uses
	Limit   int64  // maxmemory; 0 also if none is set
	Machine int64  // total_system_memory
}

// Ceiling is the memory that the node can use: maxmemory, otherwise the machine's; 0 if neither is known.
func (n Node) Ceiling() int64 {
	if n.Limit > 0 {
		return n.Limit
	}
	return n.Machine
}

// Nodes reads the memory of every master. A server that refuses INFO is a node without sizes; one that does not answer is an
// error.
func Nodes(ctx context.Context, client redis.UniversalClient) ([]Node, error) {
	cluster, is := client.(*redis.ClusterClient)
	if !is {
		n, err := read(ctx, client, "")
		return []Node{n}, err
	}
	var mu sync.Mutex
	var nodes []Node
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		n, err := read(ctx, master, master.Options().Addr)
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, n)
		return err
	})
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Addr, b.Addr) })
	return nodes, err
}

func read(ctx context.Context, client redis.Cmdable, addr string) (Node, error) {
	n := Node{Addr: addr}
	text, err := client.Info(ctx, "memory").Result()
	var refused redis.Error
	if errors.As(err, &refused) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("INFO memory: %w", err)
	}
	fields := map[string]*int64{
		"used_memory": &n.Used, "used_memory_startup": &n.Start, "maxmemory": &n.Limit, "total_system_memory": &n.Machine,
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if field := fields[name]; field != nil {
			*field, _ = strconv.ParseInt(value, 10, 64) // 0 is unknown
		}
	}
	return n, nil
}
