package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// usedCommands are all commands of the service, with harmless arguments: K is a key that is not used otherwise, C a
// channel. A test runs the service as a user that may use only these. "Which rights the service needs" in
// docs/operations.md lists them, too, and a test compares the two.
const usedCommands = `
PING
ECHO x
TIME
SCRIPT LOAD return
EVAL return 0 K
EVALSHA e K
TYPE K
EXISTS K
SET K x EX 60
SETEX K 60 x
SETNX K x
GET K
INCR K
TTL K
STRLEN K
DEL K
UNLINK K
EXPIRE K 60
EXPIREAT K 9999999999
PEXPIRE K 60000
PTTL K
RENAME K K
HSET K f x
HSETNX K f x
HINCRBY K n 1
HGET K f
HMGET K f n
HGETALL K
HKEYS K
HEXISTS K f
HLEN K
HSTRLEN K f
HSCAN K 0
HDEL K f
LPUSH K x
RPUSH K x
LRANGE K 0 1
LLEN K
LREM K 1 x
RPOP K
RPOPLPUSH K K
SADD K x
SISMEMBER K x
SCARD K
SMEMBERS K
SSCAN K 0
SREM K x
SPOP K
ZADD K 1 x
ZCARD K
ZCOUNT K 0 1
ZSCORE K x
ZRANK K x
ZMSCORE K x
ZRANGE K 0 1
ZRANGEBYSCORE K 0 1
ZRANGEBYLEX K - +
ZREVRANGE K 0 1
ZREVRANGEBYLEX K + -
ZREM K x
ZREMRANGEBYSCORE K 0 1
ZREMRANGEBYRANK K 0 1
ZPOPMIN K
XADD K * f x
XLEN K
XRANGE K - + COUNT 1
PUBLISH C x
`

// rights are what one namespace needs: its commands on keys with these prefixes, and its channels.
type rights struct{ keys, channels []string }

func rightsOf(prefix, jobPrefix string) rights {
	r := rights{keys: []string{prefix + "ready:{rights}", "asynq:ready"}, channels: []string{prefix + "ready", "asynq:ready"}}
	for _, name := range queueNames(jobPrefix) {
		r.keys = append(r.keys, "asynq:{"+name+"}:ready")
	}
	return r
}

// checkRights tries each command, key and channel. Otherwise a right that an ACL denies would first be noticed during
// a run. While nodes of a cluster are unavailable, it tries them on the others.
func checkRights(ctx context.Context, conn *redisconn.Conn, namespaces []Prefixes, away bool) (Check, error) {
	c := Check{Name: "rights", Verdict: OK, Message: "every command, key and channel may be used"}
	var forbidden []string
	forbid := func(what string) {
		if !slices.Contains(forbidden, what) {
			forbidden = append(forbidden, what)
		}
	}
	var channels, untried []string
	for _, n := range namespaces {
		need := rightsOf(n.Keys, n.Jobs)
		channels = append(channels, need.channels...)
		for _, key := range need.keys {
			if err := tryCommands(ctx, conn.Client, key, need.channels[0], forbid); err != nil {
				if !away {
					return c, err
				}
				untried = append(untried, key)
			}
		}
	}
	// Usually all channels are allowed, which one call shows.
	if allowed, err := subscribe(ctx, conn.Client, channels...); err != nil {
		return c, err
	} else if !allowed {
		for _, channel := range channels {
			allowed, err := subscribe(ctx, conn.Client, channel)
			if err != nil {
				return c, err
			}
			if !allowed {
				forbid("the channel " + channel)
			}
		}
	}
	if len(forbidden) == 0 {
		if len(untried) > 0 {
			c.Verdict, c.Message = Warn, "not tried, because nodes are away: keys like "+shortened(untried)
		}
		return c, nil
	}
	c.Verdict, c.Refuse = Fail, true
	c.Message = "the Redis user may not use " + shortened(forbidden)
	c.Advice = "Give the user these rights: " + ACLRule(namespaces)
	return c, nil
}

const forbiddenShown = 6

func shortened(all []string) string {
	if len(all) <= forbiddenShown {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:forbiddenShown], ", ") + fmt.Sprintf(" and %d more", len(all)-forbiddenShown)
}

// ACLRule returns the command that gives a user named "world" the least rights that suffice.
func ACLRule(namespaces []Prefixes) string {
	var keys, channels []string
	for _, n := range namespaces {
		keys = append(keys, "~"+n.Keys+"*")
		channels = append(channels, "&"+n.Keys+"*")
	}
	rule := append([]string{"ACL SETUSER world resetkeys"}, keys...)
	rule = append(rule, "~asynq:*", "resetchannels")
	rule = append(append(rule, channels...), "&asynq:*", "-@all")
	for _, command := range commandNames() {
		rule = append(rule, "+"+strings.ToLower(strings.ReplaceAll(command, " ", "|")))
	}
	for _, command := range connectionCommands {
		rule = append(rule, "+"+command)
	}
	return strings.Join(rule, " ")
}

// connectionCommands are needed in addition: for connections, subscriptions and clusters.
var connectionCommands = []string{
	"hello", "auth", "select", "client|setname", "client|id", "multi", "exec", "subscribe", "unsubscribe", "psubscribe", "punsubscribe",
	"pubsub|channels", "asking", "readonly", "cluster|slots", "cluster|info", "wait", "role", "command", "scan", "dbsize", "info", "config|get",
}

// commandNames returns the commands in usedCommands; SCRIPT LOAD is one.
func commandNames() []string {
	var names []string
	for line := range strings.Lines(usedCommands) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		name := words[0]
		if name == "SCRIPT" {
			name += " " + words[1]
		}
		names = append(names, name)
	}
	return names
}

func tryCommands(ctx context.Context, client redis.UniversalClient, key, channel string, forbid func(string)) error {
	var names []string
	results, _ := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for line := range strings.Lines(usedCommands) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			names = append(names, words[0])
			var args []any
			for _, word := range words {
				switch word {
				case "K":
					if len(args) > 1 && strings.HasPrefix(words[0], "EVAL") {
						args = append(args, 1)
					}
					args = append(args, key)
				case "C":
					args = append(args, channel)
				default:
					args = append(args, word)
				}
			}
			p.Do(ctx, args...)
		}
		p.Del(ctx, key)
		return nil
	})
	names = append(names, "DEL")
	for i, result := range results {
		err := result.Err()
		switch {
		case err == nil:
		case !refused(err):
			return fmt.Errorf("try %s: %w", names[i], err)
		case redis.IsPermissionError(err):
			forbid(missing(names[i], key, channel, err))
		}
	}
	return nil
}

// missing returns what a NOPERM answer is about: the command, or its key or channel.
func missing(command, key, channel string, err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "one of the channels"):
		return "the channel " + channel
	case strings.Contains(text, "one of the keys"), strings.Contains(text, "No permissions to access a key"):
		return "keys like " + key
	default:
		return command
	}
}

// subscribe subscribes briefly, and reports whether the user is allowed to.
func subscribe(ctx context.Context, client redis.UniversalClient, channels ...string) (allowed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	subscription := client.Subscribe(ctx, channels...)
	_, err = subscription.Receive(ctx)
	closed := subscription.Close()
	switch {
	case redis.IsPermissionError(err):
		return false, nil
	case err == nil:
		err = closed
	}
	if err != nil {
		return false, fmt.Errorf("SUBSCRIBE: %w", err)
	}
	return true, nil
}
