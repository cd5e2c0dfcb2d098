package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callerconn"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/budget"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	typeCBOR = "application/cbor"
	typeJSON = "application/json"

	// bodyPatience is how long a body may stand still before the call is given up.
	bodyPatience = time.Minute

	// bodyStep is what a large body takes at a time, in bytes.
	bodyStep = 4 << 20
)

// codec reads requests and writes answers. Inside, everything is CBOR: JSON is converted
// on the way in and on the way out.
type codec struct{ cbor cbor.DecMode }

func newCodec() (codec, error) {
	mode, err := newCBORMode()
	if err != nil {
		return codec{}, fmt.Errorf("cbor limits: %w", err)
	}
	return codec{cbor: mode}, nil
}

// newCBORMode sets the limits of what is decoded. Sizes are bounded by the body limit;
// nesting is bounded because walking it takes stack.
func newCBORMode() (cbor.DecMode, error) {
	return cbor.DecOptions{
		MaxNestedLevels:  cboritem.MaxNesting,
		MaxArrayElements: 1 << 26,
		MaxMapPairs:      1 << 26,
		UTF8:             cbor.UTF8DecodeInvalid,
	}.DecMode()
}

// mediaType returns a header's media type without parameters, in lower case.
func mediaType(header string) string {
	t, _, err := mime.ParseMediaType(header)
	if err != nil {
		t, _, _ = strings.Cut(header, ";")
		return strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

// accepts reports whether the Accept header names the media type itself.
func accepts(r *http.Request, mediaTypeWanted string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			if mediaType(part) == mediaTypeWanted {
				return true
			}
		}
	}
	return false
}

// answersCBOR chooses the encoding of the answer: what Accept names, else what the
// request came in, else JSON. Of both named, CBOR.
func answersCBOR(r *http.Request) bool {
	switch {
	case accepts(r, typeCBOR):
		return true
	case accepts(r, typeJSON):
		return false
	default:
		return mediaType(r.Header.Get("Content-Type")) == typeCBOR
	}
}

// answer sends a CBOR item in the encoding the client wants.
func (s *shared) answer(c echo.Context, status int, item []byte) error {
	if answersCBOR(c.Request()) {
		return s.send(c, status, typeCBOR, item)
	}
	return s.answerJSON(c, status, item)
}

// send sends a body whose length the client learns first: one in chunks of unknown length takes a
// write more for its end.
func (s *shared) send(c echo.Context, status int, contentType string, body []byte) error {
	if ctx := c.Request().Context(); len(body) > budget.Small {
		if err := memory.Of(ctx).Settle(ctx, int64(len(body))); err != nil {
			return err
		}
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	return callerconn.InOneWrite(c.Request(), c.Response(), len(body), func() error { return c.Blob(status, contentType, body) })
}

// readItem reads the body as one data item, in CBOR whatever it came as.
func (s *shared) readItem(c echo.Context) (world.Raw, error) {
	contentType := mediaType(c.Request().Header.Get("Content-Type"))
	if contentType != typeCBOR && contentType != typeJSON {
		return nil, unsupportedMedia(contentType, typeCBOR, typeJSON)
	}
	body, err := s.readBody(c)
	if err != nil {
		return nil, err
	}
	if contentType == typeJSON && len(body) > 0 {
		if ctx := c.Request().Context(); len(body) > budget.Small {
			if err := memory.Of(ctx).Take(ctx, int64(len(body))); err != nil {
				return nil, err
			}
		}
		return wire.FromJSON(body)
	}
	return s.codec.item(body)
}

// item checks that a body is one CBOR item.
func (d codec) item(body []byte) (world.Raw, error) {
	if len(body) == 0 {
		return nil, refuse.Invalid("the body is empty")
	}
	if cboritem.Plain(body) {
		return body, nil
	}
	if err := d.cbor.Wellformed(body); err != nil {
		return nil, refuse.Invalid("the body is not one well-formed CBOR item: %v", err)
	}
	return body, nil
}

func unsupportedMedia(got string, want ...string) error {
	if got == "" {
		got = "(none)"
	}
	return world.Errorf(refuse.CodeUnsupportedMedia, "Content-Type is %s, it must be %s", got, strings.Join(want, " or "))
}

// readBody reads the whole body, up to the limit.
func (s *shared) readBody(c echo.Context) ([]byte, error) {
	return s.readBodyInto(c, new(bytes.Buffer))
}

// readBodyInto is readBody with the memory of an empty buffer.
func (s *shared) readBodyInto(c echo.Context, buf *bytes.Buffer) ([]byte, error) {
	r := c.Request()
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, world.Errorf(refuse.CodeUnsupportedMedia, "Content-Encoding is %s, bodies must be sent as they are", encoding)
	}
	body := s.steady(c)
	defer body.done()
	limit := s.maxBody
	if r.ContentLength > limit {
		s.discard(r, body)
		return nil, refuse.TooLarge(r.ContentLength, limit)
	}
	n, err := s.fillBody(r, body, buf)
	switch {
	case n > limit:
		s.discard(r, body)
		return nil, refuse.TooLarge(-1, limit)
	case world.ErrorCode(err) == world.CodeOverBudget:
		s.discard(r, body)
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse.Invalid("the body stopped arriving after %d bytes", n)
	case err != nil:
		return nil, refuse.Invalid("the body ended early, after %d bytes", n)
	}
	return buf.Bytes(), nil
}

// fillBody reads the body, and one byte more than the limit of one that is larger. What it takes is counted as it
// arrives, for a claimed length is not yet a sent one: only of a large body that has begun to come is up to 4 MiB
// counted, and asked for, at once. While there is no room for more it stays in the network.
func (s *shared) fillBody(r *http.Request, body io.Reader, buf *bytes.Buffer) (n int64, err error) {
	ctx, limit := r.Context(), s.maxBody
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

// smallBody is the size of a body, in bytes, up to which its memory is asked for at once.
const smallBody = 2<<20 + 64<<10

// discard reads on for a while after a body was refused: a client that is still sending
// reads the answer only when it is done, and would see a broken connection instead. One
// that waits for "100 Continue" gets its answer before sending.
func (s *shared) discard(r *http.Request, body io.Reader) {
	if r.Header.Get("Expect") != "" {
		return
	}
	_, _ = io.CopyN(io.Discard, body, 4*s.maxBody)
}

// steadyReader gives up on a body that stands still. Its deadline must be taken off at the
// end, or it would later cancel a request that takes its time.
type steadyReader struct {
	source   io.ReadCloser
	control  *http.ResponseController
	patience time.Duration
}

// steady is the body of a call; the caller takes its deadline off.
func (s *shared) steady(c echo.Context) steadyReader {
	return steadyReader{source: c.Request().Body, control: http.NewResponseController(c.Response()), patience: s.patience}
}

func (b steadyReader) Read(p []byte) (int, error) {
	// Not every ResponseWriter has deadlines; those of tests do not.
	_ = b.control.SetReadDeadline(time.Now().Add(b.patience))
	return b.source.Read(p)
}

func (b steadyReader) done() { _ = b.control.SetReadDeadline(time.Time{}) }
