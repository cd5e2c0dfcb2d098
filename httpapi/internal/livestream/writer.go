// Package livestream writes live reads of streams: as frames, as the bytes of chunks, or as server-sent events for people.
package livestream

import (
	"context"
	"net/http"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
)

// Writer writes one live read in one of its forms. Its methods may be called concurrently.
type Writer interface {
	// Open sends the headers immediately, so that a reader of a silent stream gets them.
	Open(start int64) error
	Send(chunks []world.Chunk) error // a world.ChunkSink
	// Beats reports whether the form has something to keep a connection alive with.
	Beats() bool
	// KeepAlive writes that if nothing was written for the interval.
	KeepAlive(interval time.Duration) error
	// End writes that the stream has ended. next returns, for a reader that has read up to from, the index at which
	// something was written after that end.
	End(next func(from int64) int64) error
}

// New returns the writer of the form that the reader accepts. ctx is that of the read.
func New(ctx context.Context, w http.ResponseWriter, r *http.Request) Writer {
	if httpbody.Accepts(r, TypeEvents) {
		return newEventWriter(ctx, w)
	}
	return newChunkWriter(w, httpbody.Accepts(r, TypeFrames))
}
