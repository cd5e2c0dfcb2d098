package livestream

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	// gatherBytes is how many bytes of small chunks are written together. Larger chunks are written separately.
	gatherBytes = 16 << 10
)

// chunkWriter writes chunks as frames, or only their bytes.
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

func (w *chunkWriter) Beats() bool { return w.framed }

func (w *chunkWriter) Open(start int64) error {
	if w.framed {
		return w.openAs(TypeFrames, start)
	}
	return w.openAs(TypeChunk, start)
}

func (w *chunkWriter) openAs(contentType string, start int64) error {
	w.header.Set("Content-Type", contentType)
	w.header.Set("Cache-Control", "no-store, no-transform") // a proxy that compresses would delay chunks
	w.header.Set("X-Accel-Buffering", "no")                 // so would nginx
	w.header.Set(HeaderStart, strconv.FormatInt(start, 10))
	w.out.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush()
}

func (w *chunkWriter) Send(chunks []world.Chunk) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Small chunks are written together. The buffer is not kept, so an idle reader holds no memory.
	page := make([]byte, 0, min(gatherBytes, wire.Sizes(chunks, func(c *world.Chunk) int { return frameHead + len(c.Data) })))
	for _, chunk := range chunks {
		if w.framed {
			page = appendFrameLength(page, uint32(len(chunk.Data)))
		}
		if len(page)+len(chunk.Data) <= gatherBytes {
			page = append(page, chunk.Data...)
			continue
		}
		if err := w.write(page); err != nil {
			return err
		}
		page = page[:0]
		if err := w.write(chunk.Data); err != nil {
			return err
		}
	}
	if err := w.write(page); err != nil {
		return err
	}
	return w.flush()
}

func (w *chunkWriter) KeepAlive(interval time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) < interval/2 {
		return nil
	}
	return w.signal(frameKeepAlive)
}

func (w *chunkWriter) End(func(int64) int64) error {
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

// write sends p. It fails if the reader reads nothing for too long (internal/callerconn).
func (w *chunkWriter) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := w.out.Write(p)
	return err
}

func (w *chunkWriter) flush() error {
	w.last = time.Now()
	return w.control.Flush()
}
