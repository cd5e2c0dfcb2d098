package redisconn

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// listenAgain is how long after a lost subscription it is made again.
const listenAgain = time.Second

// switched are the channels on which a Sentinel reports another master. The one that leads a failover says +switch-master
// when the other replicas follow the new master or their time is over, and until then is alone in saying the other.
var switched = []string{"+switch-master", "+failover-state-reconf-slaves"}

// listen listens to the Sentinels of the address until ctx ends, and calls news when there may be another master. Without that,
// calls would go on to a master that was replaced and still answers, and be lost when it follows the new one.
func (s *sentinels) listen(ctx context.Context, news func()) {
	var listening sync.WaitGroup
	for _, host := range s.hosts {
		listening.Go(func() { s.listenTo(ctx, host, news) })
	}
	listening.Wait()
}

// listenTo listens to one Sentinel. The begin of a subscription counts as news, too, because earlier messages are lost.
func (s *sentinels) listenTo(ctx context.Context, host string, news func()) {
	options := s.options
	options.Addr, options.ReadTimeout, options.WriteTimeout = host, slowNode, slowNode // of the handshake
	client := redis.NewSentinelClient(&options)
	defer func() { _ = client.Close() }() // nothing is under way
	subscription := client.Subscribe(ctx, switched...)
	var closing sync.WaitGroup
	closing.Go(func() {
		<-ctx.Done()
		_ = subscription.Close() // it ends Receive
	})
	defer closing.Wait()
	for ctx.Err() == nil {
		if _, err := subscription.Receive(ctx); err == nil {
			news()
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}
