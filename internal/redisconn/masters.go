package redisconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// slowCall is how long a call may take before its node is suspected: a master whose machine is gone, or that is
	// frozen, refuses nothing.
	slowCall = time.Second
	// lookTime is what one look at the masters may take, and oneNode what one node may take to list the slots.
	lookTime = time.Second
	oneNode  = 300 * time.Millisecond
	// lookPause lies between two looks, and looksMost is how many there are after one suspicion: two minutes of them.
	lookPause = 200 * time.Millisecond
	looksMost = 120
)

// masters finds out who the masters of a cluster are when calls fail. By itself go-redis asks again after MOVED, and
// otherwise once a minute: a master that died sends no MOVED, so its slots would be out of reach for that minute, however
// soon its replica has taken over.
type masters struct {
	client   *redis.ClusterClient
	suspects chan struct{} // capacity 1: a call failed, or is slow
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// watchMasters adds itself to a client that nobody has used yet.
func watchMasters(client *redis.ClusterClient) *masters {
	ctx, stop := context.WithCancel(context.Background())
	m := &masters{client: client, suspects: make(chan struct{}, 1), stop: stop}
	client.AddHook(m)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(slotsInTime{}) })
	m.running.Go(func() { m.run(ctx) })
	return m
}

func (m *masters) close() {
	m.stop()
	m.running.Wait()
}

// suspect has the masters looked at.
func (m *masters) suspect() {
	select {
	case m.suspects <- struct{}{}:
	default:
	}
}

func (m *masters) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.suspects:
		}
		for range looksMost {
			settled := m.look(ctx)
			select {
			case <-ctx.Done():
				return
			case <-time.After(lookPause):
			}
			if settled {
				break
			}
		}
	}
}

// look loads the slots anew and asks each master of theirs whether it is one.
func (m *masters) look(ctx context.Context) (settled bool) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return m.client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		role, err := node.Do(ctx, "ROLE").Slice()
		switch {
		case redis.IsPermissionError(err): // it answers, and more cannot be known
			return nil
		case err == nil && (len(role) == 0 || role[0] != "master"):
			return fmt.Errorf("%s is no master", node.Options().Addr)
		}
		return err
	}) == nil
}

// lost says whether an error may come of a master that is not there.
func lost(err error) bool {
	var answered redis.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &answered):
		return redis.IsClusterDownError(err) || redis.IsReadOnlyError(err) || redis.IsMasterDownError(err)
	default:
		return true
	}
}

// DialHook implements redis.Hook.
func (m *masters) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (m *masters) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.during(func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m *masters) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return m.during(func() error { return next(ctx, cmds) })
	}
}

func (m *masters) during(call func() error) error {
	slow := time.AfterFunc(slowCall, m.suspect)
	err := call()
	slow.Stop()
	if lost(err) {
		m.suspect()
	}
	return err
}

// slotsInTime is a hook of one node: a node that hangs must not hold up the others that know the slots as well.
type slotsInTime struct{}

// DialHook implements redis.Hook.
func (slotsInTime) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (slotsInTime) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) == 2 && args[0] == "cluster" && args[1] == "slots" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, oneNode)
			defer cancel()
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (slotsInTime) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
