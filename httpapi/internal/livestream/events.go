package livestream

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/internal/budget"
)

// TypeEvents is the media type of a live read for people.
const TypeEvents = "text/event-stream"

// eventWriter writes a live read as server-sent events, for people: each chunk is an event
// whose id is its index and whose data is the value in one line of JSON. A chunk that is not
// readable is an event "bytes" in base64. The event "end" says that the stream has
// ended, and at which index it continues after that end. A body without it was cut off; the read continues after Last-Event-ID.
type eventWriter struct {
	*chunkWriter
	next  int64
	reads context.Context
	views *budget.Pool // memory of the values
}

func newEventWriter(ctx context.Context, w http.ResponseWriter) *eventWriter {
	return &eventWriter{chunkWriter: newChunkWriter(w, false), reads: ctx, views: memory.Views(ctx)}
}

func (w *eventWriter) Beats() bool { return true }

func (w *eventWriter) Open(start int64) error {
	w.next = start
	return w.openAs(TypeEvents, start)
}

// Send implements world.ChunkSink.
func (w *eventWriter) Send(chunks []world.Chunk) error {
	for _, chunk := range chunks {
		if err := w.event(chunk); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

// event writes one chunk. It does not hold the lock while it waits for memory, so that keepAlive can write.
func (w *eventWriter) event(chunk world.Chunk) error {
	hold := budget.Of(w.views)
	defer hold.Release()
	var line []byte
	if n := len(chunk.Data); n <= readableChunk {
		if err := hold.Grow(w.reads, int64(readableCopies*n), memory.ForGood); err != nil {
			return err
		}
		line = readable(chunk.Data, func(n int) bool { return hold.Grow(w.reads, int64(readableCopies*n), 0) == nil })
		hold.Shrink(int64(3 * len(line))) // the line, its buffer and the event
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = chunk.Index + 1
	if line == nil {
		return w.bytes(chunk)
	}
	return w.write(fmt.Appendf(nil, "id: %d\ndata: %s\n\n", chunk.Index, line))
}

// bytes writes a chunk that is not readable, in pieces.
func (w *eventWriter) bytes(chunk world.Chunk) error {
	const piece = gatherBytes / 4 * 3 // a multiple of 3, so that no padding comes before the end
	text := fmt.Appendf(make([]byte, 0, 64+min(gatherBytes, base64.StdEncoding.EncodedLen(len(chunk.Data)))), "event: bytes\nid: %d\ndata: \"", chunk.Index)
	rest := chunk.Data
	for ; len(rest) > piece; rest = rest[piece:] {
		text = base64.StdEncoding.AppendEncode(text, rest[:piece])
		if err := w.write(text); err != nil {
			return err
		}
		text = text[:0]
	}
	text = base64.StdEncoding.AppendEncode(text, rest)
	return w.write(append(text, "\"\n\n"...))
}

func (w *eventWriter) KeepAlive(interval time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) < interval/2 {
		return nil
	}
	return w.say(": nothing new\n\n")
}

func (w *eventWriter) End(next func(from int64) int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	after := ""
	if n := next(w.next); n > 0 {
		after = fmt.Sprintf(`,"next":%d`, n)
	}
	return w.say(fmt.Sprintf("event: end\ndata: {\"chunks\":%d%s}\n\n", w.next, after))
}

func (w *eventWriter) say(text string) error {
	if err := w.write([]byte(text)); err != nil {
		return err
	}
	return w.flush()
}
