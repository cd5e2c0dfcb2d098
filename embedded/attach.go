package embedded

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
)

// headerAttached says how many bytes at the end of the body are not the message, but what goes
// along with it. It is signed where there is a key (docs/protocol.md).
const headerAttached = "X-World-Redis-Attached"

// attachTimeout is how long a delivery waits for what may go along with it.
const attachTimeout = 250 * time.Millisecond

// attachment asks for what goes along with one delivery; nil is nothing. Each delivery gets its own:
// what has been read for an earlier one is out of date.
func (f *Forwarder) attachment(ctx context.Context, d world.Delivery) ([]byte, world.LogSeen) {
	// Of a message in CBOR it can be told where it ends, whatever becomes of the header.
	if f.attach == nil || !d.Attach || d.ContentType != "" && d.ContentType != "application/cbor" {
		return nil, world.LogSeen{}
	}
	if d.Along != nil {
		return d.Along, world.LogSeen{}
	}
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	return f.attach(ctx, d)
}

// withAttachment returns the body of a delivery that something goes along with.
func withAttachment(h http.Header, message, attached []byte) []byte {
	if len(attached) == 0 {
		return message
	}
	h.Set(headerAttached, strconv.Itoa(len(attached)))
	return slices.Concat(message, attached)
}
