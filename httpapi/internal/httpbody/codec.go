// Package httpbody reads the bodies of HTTP requests and writes those of answers: in CBOR or JSON, within limits of size, time and memory.
package httpbody

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/budget"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	// bodyPatience is how long a body may stop arriving before the call is refused.
	bodyPatience = time.Minute

	// bodyStep is how much memory of a large body is counted at a time, in bytes.
	bodyStep = 4 << 20
)

// Codec reads the bodies of requests and writes those of answers. Operations only know CBOR; JSON is converted
// when it is read and written.
type Codec struct {
	CBOR     input.CBOR
	MaxBody  int64         // bytes
	Patience time.Duration // how long a body may stop arriving
}

// New returns a Codec for bodies of at most maxBody bytes.
func New(maxBody int64) (*Codec, error) {
	codec, err := input.NewCBOR()
	if err != nil {
		return nil, err
	}
	return &Codec{CBOR: codec, MaxBody: maxBody, Patience: bodyPatience}, nil
}

// ReadItem reads the body as one data item in CBOR; a JSON body is converted.
func (b *Codec) ReadItem(c echo.Context) (world.Raw, error) {
	contentType := MediaType(c.Request().Header.Get("Content-Type"))
	if contentType != input.TypeCBOR && contentType != input.TypeJSON {
		return nil, UnsupportedMedia(contentType, input.TypeCBOR, input.TypeJSON)
	}
	body, err := b.readBody(c)
	if err != nil {
		return nil, err
	}
	if contentType == input.TypeJSON && len(body) > 0 {
		if ctx := c.Request().Context(); len(body) > budget.Small {
			if err := memory.Of(ctx).Take(ctx, int64(len(body))); err != nil {
				return nil, err
			}
		}
		return wire.FromJSON(body)
	}
	return b.CBOR.Item(body)
}

// readBody reads the whole body, up to the limit.
func (b *Codec) readBody(c echo.Context) ([]byte, error) {
	return b.ReadInto(c, new(bytes.Buffer))
}

// ReadInto reads the body into an empty buffer.
func (b *Codec) ReadInto(c echo.Context, buf *bytes.Buffer) ([]byte, error) {
	r := c.Request()
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, world.Errorf(refuse.CodeUnsupportedMedia, "Content-Encoding is %s, but bodies must have none", encoding)
	}
	body := b.Steady(c)
	defer body.Done()
	limit := b.MaxBody
	if r.ContentLength > limit {
		b.discard(r, body)
		return nil, refuse.TooLarge(r.ContentLength, limit)
	}
	n, err := b.fillBody(r, body, buf)
	switch {
	case n > limit:
		b.discard(r, body)
		return nil, refuse.TooLarge(-1, limit)
	case world.ErrorCode(err) == world.CodeOverBudget:
		b.discard(r, body)
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse.Invalid("the body stopped arriving after %d bytes", n)
	case err != nil:
		return nil, refuse.Invalid("the body ended early, after %d bytes", n)
	}
	return buf.Bytes(), nil
}

// fillBody reads the body, but at most one byte more than the limit. Memory is counted as the body
// arrives, because a client may announce more than it sends. Of a large body that has begun to arrive, up to 4 MiB
// are counted at a time. While there is no memory for more, the rest is not read.
func (b *Codec) fillBody(r *http.Request, body io.Reader, buf *bytes.Buffer) (n int64, err error) {
	ctx, limit := r.Context(), b.MaxBody
	h := memory.Of(ctx)
	step := int64(budget.Small)
	for {
		if left := r.ContentLength - n; r.ContentLength >= 0 {
			step = min(step, left)
		}
		if err := h.Take(ctx, step); err != nil {
			return n, err
		}
		buf.Grow(int(step) + bytes.MinRead)
		part := io.LimitedReader{R: body, N: min(step, limit-n) + 1}
		got, err := buf.ReadFrom(&part)
		n += got
		if err != nil || part.N > 0 || n > limit {
			return n, err
		}
		step = min(max(n, 3*budget.Small), bodyStep)
		if r.ContentLength > n {
			step = min(r.ContentLength-n, bodyStep)
		}
	}
}

// SmallBody is the size of buffers for bodies, in bytes, up to which they are worth keeping.
const SmallBody = 2<<20 + 64<<10

// discard reads more of a refused body: a client that is still sending
// reads the answer only when it is done, and would otherwise see a broken connection. A client
// that waits for "100 Continue" gets the answer before it sends.
func (b *Codec) discard(r *http.Request, body io.Reader) {
	if r.Header.Get("Expect") != "" {
		return
	}
	_, _ = io.CopyN(io.Discard, body, 4*b.MaxBody)
}

// SteadyReader fails when a body stops arriving. Its deadline must be removed at the
// end, or it would later cancel a slow request.
type SteadyReader struct {
	source   io.ReadCloser
	control  *http.ResponseController
	patience time.Duration
}

// Steady returns the body of a call; the caller calls Done when it has read it.
func (b *Codec) Steady(c echo.Context) SteadyReader {
	return SteadyReader{source: c.Request().Body, control: http.NewResponseController(c.Response()), patience: b.Patience}
}

// Read implements io.Reader.
func (b SteadyReader) Read(p []byte) (int, error) {
	// The ResponseWriters of some tests have no deadlines.
	_ = b.control.SetReadDeadline(time.Now().Add(b.patience))
	return b.source.Read(p)
}

// Close implements io.Closer.
func (b SteadyReader) Close() error { return b.source.Close() }

// Done removes the deadline.
func (b SteadyReader) Done() { _ = b.control.SetReadDeadline(time.Time{}) }
