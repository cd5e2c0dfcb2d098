package doorbell

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// rightsInterval is how often the Bell checks whether it may publish.
const rightsInterval = time.Minute

// watchRights checks until ctx ends whether Redis allows the process to publish. Scripts ignore a refused PUBLISH,
// and a refused SUBSCRIBE is silent, so nothing else reports that all listeners depend on their periodic checks. It
// logs one line until publishing is allowed again.
func (b *Bell) watchRights(ctx context.Context, every time.Duration) {
	said := false
	for {
		channels := b.kinds()
		refused := b.refusedChannel(ctx, channels)
		switch {
		case refused != "" && !said:
			b.log.WarnContext(ctx, "Redis refuses notifications; everything still works, only later. Give the Redis user the channels (docs/operations.md)",
				slog.String("channel", refused))
		case refused == "" && said && ctx.Err() == nil:
			b.log.InfoContext(ctx, "Redis allows notifications again")
			b.Renew() // only a new connection subscribes to what was refused
		}
		said = refused != ""
		wait := every
		if len(channels) == 0 { // no listener has joined yet
			wait = min(every, time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// refusedChannel returns the first of these channels that may not be published to, or "". It publishes to a
// neighbouring channel without listeners, so that they receive nothing.
func (b *Bell) refusedChannel(ctx context.Context, channels []string) string {
	for _, channel := range channels {
		if err := b.client.Publish(ctx, channel+":rights", "").Err(); redis.IsPermissionError(err) {
			return channel
		}
	}
	return ""
}

// kinds returns one channel with a listener for each first part of the channel names, by which ACL rules distinguish
// them.
func (b *Bell) kinds() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var channels []string
	seen := map[string]bool{}
	for channel := range b.listeners {
		if kind, _, _ := strings.Cut(channel, ":"); !seen[kind] {
			seen[kind] = true
			channels = append(channels, channel)
		}
	}
	return channels
}
