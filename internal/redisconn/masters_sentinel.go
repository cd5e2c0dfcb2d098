package redisconn

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sentinels are asked who the master is, all at once. go-redis asks the one that it is connected to, and only when that
// connection fails the others. A Sentinel that hangs, perhaps on the same machine as the master, would hold up every
// new connection for as long as the tries and deadlines of ours add up to.
type sentinels struct {
	hosts   []string
	master  string        // its name
	options redis.Options // of a connection to a Sentinel
	node    redis.Options // of one to the master
	open    *conns
}

func newSentinels(t *target) *sentinels {
	options := redis.Options{
		Dialer: t.dial, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, PipelinePoolSize: -1, Protocol: t.options.Protocol, ContextTimeoutEnabled: true,
	}
	s := &sentinels{hosts: t.hosts, master: t.master, options: options, node: options, open: t.open}
	s.options.Username, s.options.Password = t.sentinelUser, t.sentinelPassword
	s.node.Username, s.node.Password = t.options.Username, t.options.Password
	return s
}

// view is what a Sentinel says.
type view struct {
	host   string
	master string   // host:port; "" if there was no answer
	others []string // of the other Sentinels
}

// look closes connections to Sentinels that do not answer, and to what most of the others say is no master any more.
func (s *sentinels) look(ctx context.Context) (settled bool) {
	views := make([]view, len(s.hosts))
	var asking sync.WaitGroup
	for i, host := range s.hosts {
		asking.Go(func() { views[i] = s.ask(ctx, host) })
	}
	asking.Wait()
	sentinels, votes, answers := map[string]bool{}, map[string]int{}, 0
	for _, v := range views {
		for _, other := range v.others {
			sentinels[other] = true
		}
		if v.master != "" {
			votes[v.master]++
			answers++
		}
	}
	for _, v := range views {
		sentinels[v.host] = v.master != "" // also if others name it
	}
	var master string
	for address, n := range votes {
		if n > votes[master] {
			master = address
		}
	}
	if 2*votes[master] <= answers {
		return false // they are about to agree, or nobody answers
	}
	s.open.avoid(func(address string) bool { return address != master && !sentinels[address] })
	return s.answers(ctx, master)
}

func (s *sentinels) ask(ctx context.Context, host string) view {
	ctx, cancel := context.WithTimeout(ctx, oneNode)
	defer cancel()
	options := s.options
	options.Addr = host
	client := redis.NewSentinelClient(&options)
	defer func() { _ = client.Close() }() // it has asked what it had to
	v := view{host: host}
	if address, err := client.GetMasterAddrByName(ctx, s.master).Result(); err == nil && len(address) == 2 {
		v.master = net.JoinHostPort(address[0], address[1])
		others, _ := client.Sentinels(ctx, s.master).Result()
		for _, other := range others {
			v.others = append(v.others, net.JoinHostPort(other["ip"], other["port"]))
		}
	}
	return v
}

func (s *sentinels) answers(ctx context.Context, master string) bool {
	options := s.node
	options.Addr = master
	node := redis.NewClient(&options)
	defer func() { _ = node.Close() }() // it has asked what it had to
	return isMaster(ctx, node)
}
