package luascript

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

var (
	callOfRedis  = regexp.MustCompile(`redis\.p?call\(`)
	namedCall    = regexp.MustCompile(`redis\.p?call\(\s*'([A-Z]+)'`)
	readCommands = strings.Fields(`EXISTS GET HEXISTS HGET HGETALL HKEYS HLEN HMGET HSCAN HSTRLEN LLEN LPOS LRANGE SCARD SISMEMBER
		SMEMBERS SSCAN STRLEN TIME TTL XLEN XRANGE ZCARD ZMSCORE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZSCORE`)
)

// onlyReads reports whether a source names every command that it calls, and none of them writes.
func onlyReads(source string) bool {
	calls := namedCall.FindAllStringSubmatch(source, -1)
	if len(calls) != len(callOfRedis.FindAllString(source, -1)) {
		return false
	}
	for _, call := range calls {
		if !slices.Contains(readCommands, call[1]) {
			return false
		}
	}
	return true
}

// during returns the context to run the script with: a script that only reads waits for no replica.
func (s *Script) during(ctx context.Context) context.Context {
	if s.Reads {
		return replicated.NotWanted(ctx)
	}
	return ctx
}

// answerOf returns the answer of a script that ran but that too few replicas have confirmed.
func answerOf(cmd *redis.Cmd) []any {
	if !replicated.Missing(cmd.Err()) {
		return nil
	}
	reply, _ := cmd.Val().([]any)
	return reply
}
