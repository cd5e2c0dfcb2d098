package doorbell

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// rightsInterval is how often the Bell tries whether it may notify.
const rightsInterval = time.Minute

// watchRights tries, until ctx ends, whether Redis lets the process notify. Scripts ignore a refused PUBLISH, and a refused
// SUBSCRIBE is silent, so nothing else says that all listeners depend on their own looks. One line says so until it is
// allowed again.
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
			b.Renew() // what was refused is subscribed to only by a new connection
		}
		said = refused != ""
		wait := every
		if len(channels) == 0 { // nobody has joined yet
			wait = min(every, time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// refusedChannel returns the one of these channels that may not be published to, or "". It tries a channel beside it that
// nobody listens to: listeners must not hear what did not happen.
func (b *Bell) refusedChannel(ctx context.Context, channels []string) string {
	for _, channel := range channels {
		if err := b.client.Publish(ctx, channel+":rights", "").Err(); redis.IsPermissionError(err) {
			return channel
		}
	}
	return ""
}

// kinds returns one channel that has a listener for each first part of their names, which is what ACL rules tell apart.
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
