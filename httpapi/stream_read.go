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

// readStream serves a live read. Once the headers are out there is no way to send an
// error, so everything but the recorded end cuts the connection: the reader sees a body
// that is not whole, and reads on from where it was.
func (a *api) readStream(c echo.Context) error {
	name, start, err := operations.DecodeRead(a.requestOf(c))
	if err != nil {
		return err
	}
	if a.IsDraining() {
		return world.Errorf(world.CodeUnavailable, "the service is shutting down")
	}
	// Asked even when start needs no tail: a Redis that is away can still be told here.
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
		a.LogFailure(c.Request().Context(), originOf(c), "a stream read was cut; its reader goes on from there", slog.LevelInfo, err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// nextPart is the index behind the end that a reader has come to, if something was written there; else 0.
func (a *api) nextPart(ctx context.Context, name string, from int64) int64 {
	info, err := a.ops.Deps.Streams.StreamInfo(ctx, name, from)
	if err != nil {
		a.Log.Debug("look what follows the end of a stream", slog.String("stream", name), slog.String("error", err.Error()))
	}
	return info.Next
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
		case <-a.Draining:
			return
		case <-beat:
			if out.KeepAlive(a.keepAlive) != nil {
				return
			}
		}
	}
}
