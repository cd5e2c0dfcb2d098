package embedded

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
)

// headerPreloaded is the length, in bytes, of the preload that follows the message in the body. It is signed if there
// is a key (docs/protocol.md).
const headerPreloaded = "X-World-Redis-Attached"

// preloadTimeout is how long a delivery waits for its preload.
const preloadTimeout = 250 * time.Millisecond

// preloadOf returns the preload of one delivery; nil if there is none. Each delivery reads its own, because one that was
// read for an earlier delivery is out of date.
func (f *Forwarder) preloadOf(ctx context.Context, d world.Delivery) ([]byte, world.LogSeen) {
	// The end of a message in CBOR is known even if the header gets lost.
	if f.preload == nil || !d.TakesPreload || d.ContentType != "" && d.ContentType != "application/cbor" {
		return nil, world.LogSeen{}
	}
	if d.Preload != nil {
		return d.Preload, world.LogSeen{}
	}
	ctx, cancel := context.WithTimeout(ctx, preloadTimeout)
	defer cancel()
	return f.preload(ctx, d)
}

// withPreload returns the body of a delivery: the message, followed by the preload if there is one.
func withPreload(h http.Header, message, preload []byte) []byte {
	if len(preload) == 0 {
		return message
	}
	h.Set(headerPreloaded, strconv.Itoa(len(preload)))
	return slices.Concat(message, preload)
}
