package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
)

// readStream serves a live read. After the headers, no error can be
// sent, so everything except the recorded end cuts the connection: the reader notices an incomplete
// body, and continues from the next index.
func (a *api) readStream(c echo.Context) error {
	name, start, err := operations.DecodeRead(a.requestOf(c))
	if err != nil {
		return err
	}
	if a.IsDraining() {
		return world.Errorf(world.CodeUnavailable, "the service is shutting down")
	}
	// Needed even if start needs no tail: if Redis does not answer, the call can still get an error.
	info, err := a.ops.Deps.Streams.StreamInfo(c.Request().Context(), name, max(0, start))
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
	err = a.ops.Deps.Streams.ReadStream(ctx, name, start, out.Send)
	cut := ctx.Err() != nil
	cancel()
	<-watched
	switch {
	case cut:
		// The service or the reader ended it. If the stream ended at the same time, the reader reads the end again.
		panic(http.ErrAbortHandler)
	case err == nil:
		err = out.End(func(from int64) int64 { return a.nextPart(c.Request().Context(), name, from) })
	}
	if world.ErrorCode(err) == world.CodeRunNotFound {
		// The run was removed, or was never created. The reader gets that error when it continues.
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		a.LogFailure(c.Request().Context(), originOf(c), "a stream read was cut off; its reader continues from there", slog.LevelInfo, err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// nextPart returns the index after the end that a reader has reached, if something was written after it, otherwise 0.
func (a *api) nextPart(ctx context.Context, name string, from int64) int64 {
	info, err := a.ops.Deps.Streams.StreamInfo(ctx, name, from)
	if err != nil {
		a.Log.Debug("what follows the end of a stream is not known", slog.String("stream", name), slog.String("error", err.Error()))
	}
	return info.Next
}

// watchStream keeps the connection of a silent stream alive. It returns when the read must
// end: the service drains, the reader is gone, or the read is over.
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
		case <-a.Draining:
			return
		case <-beat:
			if out.KeepAlive(a.keepAlive) != nil {
				return
			}
		}
	}
}
