package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

const (
	// replicaTime is how long replicas have to confirm a write.
	replicaTime = time.Second
	// markLife is how long the key of the mark stays after the last write.
	markLife = 10 * time.Minute
	// markTries limits the search for a slot of a node: even with a hundred masters, this many tries practically
	// always find one.
	markTries = 2000
)

// Confirm makes the writes of calls marked with [replicated.Wanted] wait until that many replicas have them. It must
// be called before the Conn is used; marks is the prefix of the keys of a small additional write. 0 replicas change
// nothing.
//
// Redis's WAIT counts the replicas that have the writes of its own connection. So WAIT is sent at the end of the
// pipeline, on its connection and, on a cluster, to its node. A write of our own precedes it: a repeated call may
// write nothing, and WAIT would then confirm what a replica does not have. The replication stream is ordered, so a
// replica that has our write has everything that this master wrote before it, on any connection.
func (c *Conn) Confirm(replicas replicated.Durability, marks string) error {
	switch {
	case replicas == 0:
		return nil
	case c.Mode == Embedded:
		return errors.New("the embedded Redis has no replicas that could confirm a write")
	case c.readTimeout > 0 && c.readTimeout < 2*replicaTime:
		return fmt.Errorf("the read_timeout of the Redis address is %s: with replicas that confirm writes it must be at least %s", c.readTimeout, 2*replicaTime)
	}
	c.Replicas = replicas
	hook := func(node *redis.Client) redis.Hook {
		return &confirming{node: node, wanted: int(replicas), marks: marks}
	}
	switch client := c.Client.(type) {
	case *redis.ClusterClient:
		client.OnNewNode(func(node *redis.Client) { node.AddHook(hook(node)) })
	case *redis.Client: // Sentinel, too
		client.AddHook(hook(client))
	}
	return nil
}

// confirming is the hook of a client of one server.
type confirming struct {
	node   *redis.Client
	wanted int
	marks  string
	mark   atomic.Pointer[string] // the key that the mark was last written to
}

// Our own commands in a pipeline. On a cluster, go-redis resends the commands for an unreachable node to the nodes of
// their slots. WAIT has no slot, so the hook recognises these two by their types and leaves them out then.
type (
	markCommand struct{ *redis.StatusCmd }
	waitCommand struct{ *redis.IntCmd }
)

// DialHook implements redis.Hook.
func (h *confirming) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h *confirming) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !replicated.IsWanted(ctx) || !writes(cmd) {
			return next(ctx, cmd)
		}
		alone := h.node.Pipeline()
		_ = alone.Process(ctx, cmd) // only queues it
		_, err := alone.Exec(ctx)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h *confirming) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !replicated.IsWanted(ctx) {
			return next(ctx, cmds)
		}
		cmds = slices.DeleteFunc(slices.Clone(cmds), isOwn)
		switch {
		case !slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() != "asking" }):
			return nil // everything that was to be resent was our own
		case slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() == "multi" }):
			return errors.New("a transaction cannot wait for replicas")
		case !slices.ContainsFunc(cmds, writes):
			return next(ctx, cmds)
		}
		return h.confirm(ctx, next, cmds)
	}
}

// confirm sends commands and waits for the replicas. If these are too few, every write has a [replicated.Error] in
// addition to its answer.
func (h *confirming) confirm(ctx context.Context, next redis.ProcessPipelineHook, cmds []redis.Cmder) error {
	missing, redirected, err := h.send(ctx, next, cmds, h.markKey(ctx))
	if redirected {
		// The slot of the mark has moved. The commands that ran here run again, which every script allows: WAIT has
		// to follow them on their connection.
		here := slices.DeleteFunc(slices.Clone(cmds), func(cmd redis.Cmder) bool { return redirect(cmd.Err()) })
		key, found := h.findMark(ctx)
		switch {
		case len(here) == 0:
			missing = nil
		case found == nil:
			missing, _, err = h.send(ctx, next, here, key)
		}
	}
	if missing != nil {
		for _, cmd := range cmds {
			if writes(cmd) && (cmd.Err() == nil || errors.Is(cmd.Err(), redis.Nil)) {
				cmd.SetErr(missing)
			}
		}
	}
	for _, cmd := range cmds {
		if cmd.Err() != nil {
			return cmd.Err()
		}
	}
	return err
}

// send sends commands followed by the mark and WAIT. missing is nil if the replicas have them.
func (h *confirming) send(ctx context.Context, next redis.ProcessPipelineHook, cmds []redis.Cmder, key string) (missing *replicated.Error, redirected bool, err error) {
	mark := markCommand{redis.NewStatusCmd(ctx, "set", key, "", "px", markLife.Milliseconds())}
	wait := waitCommand{redis.NewIntCmd(ctx, "wait", h.wanted, replicaTime.Milliseconds())}
	err = next(ctx, append(slices.Clone(cmds), mark, wait))
	confirmed := int(wait.Val())
	switch cause := errors.Join(mark.Err(), wait.Err()); {
	case cause != nil:
		missing = &replicated.Error{Wanted: h.wanted, Cause: cause}
	case confirmed < h.wanted:
		missing = &replicated.Error{Wanted: h.wanted, Confirmed: confirmed}
	default:
		err = nil // the errors of commands are in them
	}
	return missing, redirect(mark.Err()), err
}

// markKey returns the key for the mark, which is in a slot of this node, so that the node need not redirect it.
func (h *confirming) markKey(ctx context.Context) string {
	if key := h.mark.Load(); key != nil {
		return *key
	}
	if key, err := h.findMark(ctx); err == nil {
		return key
	}
	return h.numbered(0)
}

func (h *confirming) numbered(i int) string { return fmt.Sprintf("%s{%d}", h.marks, i) }

// findMark tries keys until the node accepts one.
func (h *confirming) findMark(ctx context.Context) (key string, err error) {
	ctx = replicated.NotWanted(ctx)
	for i := range markTries {
		key = h.numbered(i)
		if err = h.node.Set(ctx, key, "", markLife).Err(); err == nil {
			h.mark.Store(&key)
			return key, nil
		}
		if !redirect(err) {
			return "", err
		}
	}
	return "", err
}

func isOwn(cmd redis.Cmder) bool {
	switch cmd.(type) {
	case markCommand, waitCommand:
		return true
	default:
		return false
	}
}

// redirect reports whether a node of a cluster answered that it does not have a slot, or soon will not.
func redirect(err error) bool {
	if err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, asked := redis.IsAskError(err)
	return moved || asked || redis.IsTryAgainError(err)
}

// passive are commands that need no replica: reads, and commands about the connection itself.
var passive = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`asking auth client cluster command config dbsize echo exists get hello hexists hget hgetall hkeys
		hlen hmget hscan hstrlen info llen lrange memory mget ping pttl pubsub readonly readwrite role scan scard script select sismember
		smembers sscan strlen time ttl type wait xinfo xlen xrange xread xrevrange zcard zcount zmscore zrange zrangebylex zrangebyscore
		zrank zrevrange zrevrangebylex zscan zscore`) {
		names[name] = true
	}
	return names
}()

func writes(cmd redis.Cmder) bool { return !passive[cmd.Name()] }
