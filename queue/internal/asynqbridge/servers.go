package asynqbridge

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// serversMost bounds how many servers are read.
const serversMost = 1000

// Server is a worker of asynq, in any process that works on this Redis.
type Server struct {
	Name string // <host>:<pid>:<id>
	Host string
	PID  int
	info string // as asynq wrote it; empty if it is not there
}

// Serves reports whether the server works on a queue. A server of which nothing more than its name is known may.
func (s Server) Serves(queue string) bool {
	if s.info == "" {
		return true
	}
	// An entry of a map in a protocol buffer: its key is field 1.
	const key = 1<<3 | 2
	return strings.Contains(s.info, string(binary.AppendUvarint([]byte{key}, uint64(len(queue))))+queue)
}

// Servers returns the servers that have reported within minutes.
func Servers(ctx context.Context, client redis.UniversalClient) ([]Server, error) {
	keys, err := client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: listOfServers, ByScore: true, Start: time.Now().Unix(), Stop: "+inf", Count: serversMost,
	}).Result()
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	reads := make([]*redis.StringCmd, len(keys))
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			reads[i] = p.Get(ctx, key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	servers := make([]Server, len(keys))
	for i, key := range keys {
		servers[i] = Server{Name: serverName(key), info: reads[i].Val()}
		parts := strings.Split(servers[i].Name, ":")
		if n := len(parts); n >= 3 { // a host may have colons
			servers[i].Host = strings.Join(parts[:n-2], ":")
			servers[i].PID, _ = strconv.Atoi(parts[n-2])
		}
	}
	return servers, nil
}

// serverName is the name in a server's key, asynq:servers:{<name>}.
func serverName(key string) string {
	return strings.TrimSuffix(strings.TrimPrefix(key, listOfServers+":{"), "}")
}

// announce calls Worker.Announce before asynq's list gets a server of this process.
func (b *backend) announce(ctx context.Context, members []redis.Z, until time.Time) error {
	if b.worker.Announce == nil {
		return nil
	}
	for _, m := range members {
		if key, ok := m.Member.(string); ok {
			if err := b.worker.Announce(ctx, serverName(key), until); err != nil {
				return err
			}
		}
	}
	return nil
}
