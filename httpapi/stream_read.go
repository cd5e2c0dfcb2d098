package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// headerLastEventID is what a reader of server-sent events sends to go on.
const headerLastEventID = "Last-Event-ID"

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
	out := livestream.New(ctx, c.Response(), c.Request())
	if err := out.Open(start); err != nil {
		panic(http.ErrAbortHandler)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		a.watchStream(ctx, out)
	}()
	err = a.deps.Streams.ReadStream(ctx, name, start, out.Send)
	cut := ctx.Err() != nil
	cancel()
	<-watched
	switch {
	case cut:
		// Ours or the reader's doing; an end that came in the same moment is read again.
		panic(http.ErrAbortHandler)
	case err == nil:
		err = out.End(func(from int64) int64 { return a.nextPart(c.Request().Context(), name, from) })
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
func decodeRead(r *input.Request) (name string, start int64, err error) {
	r.PathID("runId")
	name, start = r.PathText("name", world.MaxStreamName), readStartIndex(r)
	if next, given := readResumeIndex(r); given {
		start = next
	}
	return name, start, r.Err
}

func readStartIndex(r *input.Request) int64 {
	q := r.Query()
	if !q.Has("startIndex") {
		return 0
	}
	n, err := strconv.ParseInt(q.Get("startIndex"), 10, 54)
	if err != nil {
		r.Fail(refuse.Invalid("startIndex must be a whole number"))
	}
	return n
}

// watchStream keeps a silent stream's connection alive and returns when the read has to
// end: the service drains, the reader is gone, or the read is over by itself.
func (a *api) watchStream(ctx context.Context, out livestream.Writer) {
	var beat <-chan time.Time
	if out.Beats() {
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
			if out.KeepAlive(a.keepAlive) != nil {
				return
			}
		}
	}
}

// readResumeIndex returns the index after the last event that the caller has, if it says so.
func readResumeIndex(r *input.Request) (next int64, given bool) {
	text := r.From.Header().Get(headerLastEventID)
	if text == "" {
		return 0, false
	}
	last, err := strconv.ParseInt(text, 10, 53)
	if err != nil || last < 0 {
		r.Fail(refuse.Invalid("%s must be the id of an event of this stream", headerLastEventID))
	}
	return last + 1, true
}
