package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	// writePatience is how long a reader may take nothing before it is cut off.
	writePatience = time.Minute
	// writePiece bounds what must get through within writePatience.
	writePiece = 256 << 10 // bytes
)

// readStream serves a live read. Once the headers are out there is no way to send an
// error, so everything but the recorded end cuts the connection: the reader sees a body
// that is not whole, and reads on from where it was.
func (s *Server) readStream(c echo.Context) error {
	if _, err := pathID(c, "runId"); err != nil {
		return err
	}
	name, err := pathText(c, "name", maxStreamName)
	if err != nil {
		return err
	}
	start, err := startIndex(c)
	if err != nil {
		return err
	}
	if next, given, err := resumeIndex(c); err != nil {
		return err
	} else if given {
		start = next
	}
	if s.isDraining() {
		return world.Errorf(world.CodeUnavailable, "the service is shutting down")
	}
	// Asked even when start needs no tail: a Redis that is away can still be told here.
	info, err := s.deps.Streams.StreamInfo(c.Request().Context(), name)
	if err != nil {
		return err
	}
	if start < 0 {
		start = max(0, info.TailIndex+1+start)
	}

	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	out := newLiveWriter(c)
	if err := out.open(start); err != nil {
		panic(http.ErrAbortHandler)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		s.watchStream(ctx, out)
	}()
	err = s.deps.Streams.ReadStream(ctx, name, start, out.send)
	cut := ctx.Err() != nil
	cancel()
	<-watched
	switch {
	case cut:
		// Ours or the reader's doing; an end that came in the same moment is read again.
		panic(http.ErrAbortHandler)
	case err == nil:
		err = out.end()
	}
	if err != nil {
		s.logFailure(c, "a stream read was cut", slog.LevelWarn, err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

func startIndex(c echo.Context) (int64, error) {
	q, err := queryOf(c)
	if err != nil {
		return 0, err
	}
	if !q.values.Has("startIndex") {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.values.Get("startIndex"), 10, 54)
	if err != nil {
		return 0, invalid("startIndex must be a whole number")
	}
	return n, nil
}

// watchStream keeps a silent stream's connection alive and returns when the read has to
// end: the service drains, the reader is gone, or the read is over by itself.
func (s *Server) watchStream(ctx context.Context, out liveWriter) {
	var beat <-chan time.Time
	if out.beats() {
		ticker := time.NewTicker(s.keepAlive)
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.draining:
			return
		case <-beat:
			if out.keepAlive(s.keepAlive) != nil {
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
	// end says that the stream has ended.
	end() error
}

func newLiveWriter(c echo.Context) liveWriter {
	r := c.Request()
	if accepts(r, typeEvents) {
		return newEventWriter(c.Response())
	}
	return newChunkWriter(c.Response(), accepts(r, typeFrames))
}

// chunkWriter writes chunks as frames, or as their bytes alone.
type chunkWriter struct {
	framed  bool
	header  http.Header
	out     http.ResponseWriter
	control *http.ResponseController

	mu   sync.Mutex
	last time.Time // of the last write
}

func newChunkWriter(w http.ResponseWriter, framed bool) *chunkWriter {
	return &chunkWriter{framed: framed, header: w.Header(), out: w, control: http.NewResponseController(w)}
}

func (w *chunkWriter) beats() bool { return w.framed }

func (w *chunkWriter) open(start int64) error {
	if w.framed {
		return w.openAs(typeFrames, start)
	}
	return w.openAs(typeChunk, start)
}

func (w *chunkWriter) openAs(contentType string, start int64) error {
	w.header.Set("Content-Type", contentType)
	w.header.Set("Cache-Control", "no-store, no-transform") // a proxy that compresses would hold chunks back
	w.header.Set("X-Accel-Buffering", "no")                 // so would nginx
	w.header.Set(headerStart, strconv.FormatInt(start, 10))
	w.out.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *chunkWriter) send(chunks []world.Chunk) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chunk := range chunks {
		if w.framed {
			if err := w.write(frameLength(uint32(len(chunk.Data)))); err != nil {
				return err
			}
		}
		if err := w.write(chunk.Data); err != nil {
			return err
		}
	}
	return w.flush()
}

func (w *chunkWriter) keepAlive(interval time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) < interval/2 {
		return nil
	}
	return w.signal(frameKeepAlive)
}

func (w *chunkWriter) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.framed {
		return nil
	}
	return w.signal(frameEnd)
}

func (w *chunkWriter) signal(frame uint32) error {
	if err := w.write(frameLength(frame)); err != nil {
		return err
	}
	return w.flush()
}

// write sends p in pieces, each with a deadline of its own: slow is fine, stuck is not.
func (w *chunkWriter) write(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), writePiece)
		w.deadline(time.Now().Add(writePatience))
		if _, err := w.out.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (w *chunkWriter) flush() error {
	w.last = time.Now()
	w.deadline(w.last.Add(writePatience))
	err := w.control.Flush()
	w.deadline(time.Time{})
	return err
}

// deadline is best effort: not every ResponseWriter has deadlines, those of tests do not.
func (w *chunkWriter) deadline(t time.Time) { _ = w.control.SetWriteDeadline(t) }
