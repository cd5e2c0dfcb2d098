package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	typeEvents        = "text/event-stream"
	headerLastEventID = "Last-Event-ID"
)

// eventWriter writes a live read as server-sent events, for people: each chunk is an event
// whose id is its index and whose data is the value in one line of JSON. Chunks that are not
// readable come as the event "bytes" in base64. The event "end" says that the stream has
// ended, and where it goes on behind that end; a body that ends without it was cut, and goes on after Last-Event-ID.
type eventWriter struct {
	*chunkWriter
	next int64
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	return &eventWriter{chunkWriter: newChunkWriter(w, false)}
}

func (w *eventWriter) beats() bool { return true }

func (w *eventWriter) open(start int64) error {
	w.next = start
	return w.openAs(typeEvents, start)
}

// send implements world.ChunkSink.
func (w *eventWriter) send(chunks []world.Chunk) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chunk := range chunks {
		line, opaque := readable(chunk.Data)
		event := ""
		if opaque {
			event = "event: bytes\n"
		}
		if err := w.write(fmt.Appendf(nil, "%sid: %d\ndata: %s\n\n", event, chunk.Index, line)); err != nil {
			return err
		}
		w.next = chunk.Index + 1
	}
	return w.flush()
}

func (w *eventWriter) keepAlive(interval time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) < interval/2 {
		return nil
	}
	return w.say(": nothing new\n\n")
}

func (w *eventWriter) end(next func(from int64) int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := ""
	if n := next(w.next); n > 0 {
		behind = fmt.Sprintf(`,"next":%d`, n)
	}
	return w.say(fmt.Sprintf("event: end\ndata: {\"chunks\":%d%s}\n\n", w.next, behind))
}

func (w *eventWriter) say(text string) error {
	if err := w.write([]byte(text)); err != nil {
		return err
	}
	return w.flush()
}

// resumeIndex is the index after the last event that the caller has, if it says so.
func resumeIndex(c echo.Context) (next int64, given bool, err error) {
	text := c.Request().Header.Get(headerLastEventID)
	if text == "" {
		return 0, false, nil
	}
	last, err := strconv.ParseInt(text, 10, 53)
	if err != nil || last < 0 {
		return 0, false, invalid("%s must be the id of an event of this stream", headerLastEventID)
	}
	return last + 1, true, nil
}
