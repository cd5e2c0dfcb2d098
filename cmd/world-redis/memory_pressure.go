package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redismemory"
)

// memoryShare is a share of maxmemory in percent, such as 80%; 0 if it is not set.
type memoryShare int

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *memoryShare) UnmarshalText(text []byte) error {
	digits, found := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(digits)
	if len(text) == 0 {
		*s = 0
		return nil
	}
	if !found || err != nil || n < 1 || n > 99 {
		return fmt.Errorf("%q is not a share of maxmemory such as 80%%: use 1%% to 99%%", text)
	}
	*s = memoryShare(n)
	return nil
}

// String writes it as it is set.
func (s memoryShare) String() string {
	if s == 0 {
		return ""
	}
	return strconv.Itoa(int(s)) + "%"
}

// pressure returns what says that Redis is fuller than the share: of a cluster its fullest master. A server without maxmemory, or
// that does not report its memory, is never too full. It returns nil if the share is 0.
func (s memoryShare) pressure(client redis.UniversalClient) func(ctx context.Context) (string, error) {
	if s == 0 {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		nodes, err := redismemory.Nodes(ctx, client)
		if err != nil {
			return "", err
		}
		fullest, most := redismemory.Node{}, int64(0)
		for _, n := range nodes {
			if n.Limit > 0 && n.Used*100/n.Limit >= most {
				fullest, most = n, n.Used*100/n.Limit
			}
		}
		if most < int64(s) {
			return "", nil
		}
		text := fmt.Sprintf("%s of %s (%d %%)", redismemory.Bytes(fullest.Used), redismemory.Bytes(fullest.Limit), most)
		if fullest.Addr != "" {
			text = "node " + fullest.Addr + ": " + text
		}
		return text, nil
	}
}
