package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// readStream serves a live read. Once the headers are out there is no way to send an
// error, so everything but the recorded end cuts the connection: the reader sees a body
// that is not whole, and reads on from where it was.
func (a *api) readStream(c echo.Context) error {
	name, start, err := decodeRead(a.requestOf(c))
	if err != nil {
		return err
	}
	if a.isDraining() {
		return world.Errorf(world.CodeUnavailable, "the service is shutting down")
	}
	// Asked even when start needs no tail: a Redis that is away can still be told here.
	info, err := a.deps.Streams.StreamInfo(c.Request().Context(), name, max(0, start))
	if err != nil {
		return err
	}
	if start < 0 {
		start = max(0, info.Count+start)
	}

	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	out := newLiveWriter(ctx, c)
	if err := out.open(start); err != nil {
		panic(http.ErrAbortHandler)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		a.watchStream(ctx, out)
	}()
	err = a.deps.Streams.ReadStream(ctx, name, start, out.send)
	cut := ctx.Err() != nil
	cancel()
	<-watched
	switch {
	case cut:
		// Ours or the reader's doing; an end that came in the same moment is read again.
		panic(http.ErrAbortHandler)
	case err == nil:
		err = out.end(func(from int64) int64 { return a.nextPart(c.Request().Context(), name, from) })
	}
	if world.ErrorCode(err) == world.CodeRunNotFound {
		// The run has vanished, or never came. The reader that comes back is told so.
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		a.logFailure(c.Request().Context(), originOf(c), "a stream read was cut; its reader goes on from there", slog.LevelInfo, err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// nextPart is the index behind the end that a reader has come to, if something was written there; else 0.
func (a *api) nextPart(ctx context.Context, name string, from int64) int64 {
	info, err := a.deps.Streams.StreamInfo(ctx, name, from)
	if err != nil {
		a.log.Debug("look what follows the end of a stream", slog.String("stream", name), slog.String("error", err.Error()))
	}
	return info.Next
}

// decodeRead reads which stream is to be read, and from where.
func decodeRead(r *request) (name string, start int64, err error) {
	r.pathID("runId")
	name, start = r.pathText("name", maxStreamName), r.startIndex()
	if next, given := r.resumeIndex(); given {
		start = next
	}
	return name, start, r.err
}

func (r *request) startIndex() int64 {
	q := r.query()
	if !q.Has("startIndex") {
		return 0
	}
	n, err := strconv.ParseInt(q.Get("startIndex"), 10, 54)
	if err != nil {
		r.fail(refuse.Invalid("startIndex must be a whole number"))
	}
	return n
}

// watchStream keeps a silent stream's connection alive and returns when the read has to
// end: the service drains, the reader is gone, or the read is over by itself.
func (a *api) watchStream(ctx context.Context, out liveWriter) {
	var beat <-chan time.Time
	if out.beats() {
		ticker := time.NewTicker(a.keepAlive)
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.draining:
			return
		case <-beat:
			if out.keepAlive(a.keepAlive) != nil {
				return
			}
		}
	}
}

// liveWriter writes one live read in one of its forms. Its methods may be called at once.
type liveWriter interface {
	// open sends the headers at once: a reader of a quiet stream should not wait for them.
	open(start int64) error
	send(chunks []world.Chunk) error // a world.ChunkSink
	// beats reports whether keepAlive has a way to write something that is no chunk.
	beats() bool
	// keepAlive writes it when nothing was written for the interval.
	keepAlive(interval time.Duration) error
	// end says that the stream has ended. next tells, for a reader that has read up to from, where
	// something was written behind that end.
	end(next func(from int64) int64) error
}

func newLiveWriter(ctx context.Context, c echo.Context) liveWriter {
	r := c.Request()
	if accepts(r, typeEvents) {
		return newEventWriter(ctx, c.Response())
	}
	return newChunkWriter(c.Response(), accepts(r, typeFrames))
}
