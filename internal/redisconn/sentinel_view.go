package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// slowNode is how long a Sentinel may take to answer if none does within oneNode.
const slowNode = 1500 * time.Millisecond

// errDisagree ends a look that is to be made again.
var errDisagree = errors.New("the Sentinels do not agree on the master")

// sentinelsError is what went wrong with Sentinels that do not say who the master is.
type sentinelsError []error

// Error implements error.
func (s sentinelsError) Error() string {
	why := make([]string, len(s))
	for i, err := range s {
		why[i] = err.Error()
	}
	return "no Sentinel says who the master is: " + strings.Join(why, "; ")
}

// Unwrap is for errors.As.
func (s sentinelsError) Unwrap() []error { return s }

// view is what a Sentinel says.
type view struct {
	epoch  int64    // of its configuration: each failover has a higher one
	master string   // host:port
	others []string // of the other Sentinels
}

// ask returns the address of the master. It asks the Sentinels of the address, and those that they know if none answers.
func (s *sentinels) ask(ctx context.Context) (string, error) {
	s.mu.Lock()
	others := s.others
	s.mu.Unlock()
	var failed sentinelsError
	for _, patience := range []time.Duration{oneNode, slowNode} {
		for _, hosts := range [][]string{s.hosts, others} {
			views, silent := s.views(ctx, hosts, patience)
			if len(views) > 0 {
				s.mu.Lock()
				s.others = views[0].others
				s.mu.Unlock()
				return newest(views)
			}
			failed = append(failed, silent...)
		}
	}
	return "", failed[len(failed)-len(s.hosts)-len(others):] // what each answered last
}

// newest returns the master that the view of the highest epoch names, as Sentinels decide it among themselves. During a failover the
// one that leads it knows the new master first, and one that was cut off knows the old one for as long as that lasts.
func newest(views []view) (string, error) {
	epoch := views[0].epoch
	for _, v := range views {
		epoch = max(epoch, v.epoch)
	}
	votes, votesOf := map[string]int{}, 0
	for _, v := range views {
		if v.epoch == epoch {
			votes[v.master]++
			votesOf++
		}
	}
	for master, n := range votes {
		if 2*n > votesOf {
			return master, nil
		}
	}
	return "", errDisagree
}

// views asks Sentinels, all at once. Once most have answered it does not wait for one that hangs.
func (s *sentinels) views(ctx context.Context, hosts []string, patience time.Duration) (views []view, failed sentinelsError) {
	type answer struct {
		view
		err error
	}
	answers := make(chan answer, len(hosts))
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, host := range hosts {
		asking.Go(func() {
			v, err := s.view(ctx, host)
			if err != nil {
				err = fmt.Errorf("the one at %s: %w", host, err)
			}
			answers <- answer{v, err}
		})
	}
	var enough <-chan time.Time
	for range hosts {
		select {
		case a := <-answers:
			if a.err != nil {
				failed = append(failed, a.err)
				continue
			}
			views = append(views, a.view)
			if enough == nil && 2*len(views) > len(hosts) {
				enough = time.After(lookPause)
			}
		case <-enough:
			return views, failed
		}
	}
	return views, failed
}

func (s *sentinels) view(ctx context.Context, host string) (view, error) {
	options := s.options
	options.Addr = host
	client := redis.NewSentinelClient(&options)
	defer context.AfterFunc(ctx, func() { _ = client.Close() })() // that a call under way ends
	defer func() { _ = client.Close() }()                         // it has asked what it had to
	// The epoch comes first. If it is refused, or a new master is named in between, that master is not taken for older than it is.
	known, _ := client.Master(ctx, s.name).Result()
	epoch, _ := strconv.ParseInt(known["config-epoch"], 10, 64)
	address, err := client.GetMasterAddrByName(ctx, s.name).Result()
	switch {
	case errors.Is(err, redis.Nil) || err == nil && len(address) != 2:
		return view{}, fmt.Errorf("it knows no master of the name %q", s.name)
	case err != nil:
		return view{}, err
	}
	v := view{epoch: epoch, master: net.JoinHostPort(address[0], address[1])}
	others, _ := client.Sentinels(ctx, s.name).Result()
	for _, other := range others {
		v.others = append(v.others, net.JoinHostPort(other["ip"], other["port"]))
	}
	return v, nil
}
