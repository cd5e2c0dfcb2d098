package httpapi

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/internal/wire"
)

// appendBuffers reuses the buffers of bodies, which are free once the chunks are
// stored. Without it, large chunks would make as much garbage as there is data.
var appendBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// appendChunks writes chunks to a stream.
func (a *api) appendChunks(c echo.Context) error {
	write, err := operations.DecodeAppend(a.requestOf(c))
	if err != nil {
		return err
	}
	contentType := httpbody.MediaType(c.Request().Header.Get("Content-Type"))
	if contentType != livestream.TypeChunk && contentType != livestream.TypeFrames {
		return httpbody.UnsupportedMedia(contentType, livestream.TypeChunk, livestream.TypeFrames)
	}
	// The stream counts as being written from here on, however long the body takes to arrive.
	defer a.ops.Deps.Streams.ExpectAppend(write.Name)()
	buf := appendBuffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is in there
	defer func() {
		if buf.Cap() <= httpbody.SmallBody+bytes.MinRead {
			buf.Reset()
			appendBuffers.Put(buf)
		}
	}()
	body, err := a.ReadInto(c, buf)
	if err != nil {
		return err
	}
	if contentType == livestream.TypeChunk {
		write.Chunks = [][]byte{body}
	} else if write.Chunks, err = livestream.SplitFrames(body); err != nil {
		return err
	}
	first, err := a.ops.Deps.Streams.AppendChunks(c.Request().Context(), write)
	if err != nil {
		return err
	}
	e := wire.NewEncoder(32)
	o := e.Object()
	o.Whole("index", first)
	o.End()
	return a.Answer(c, http.StatusOK, e.Bytes)
}
