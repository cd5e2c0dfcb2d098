package httpbody

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/callerconn"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/internal/budget"
	"github.com/world-redis/world-redis/internal/wire"
)

// Answer sends a CBOR item in the encoding the client wants.
func (b *Codec) Answer(c echo.Context, status int, item []byte) error {
	if answersCBOR(c.Request()) {
		return b.send(c, status, input.TypeCBOR, item)
	}
	return b.answerJSON(c, status, item)
}

// send sends a body with its length: without one, net/http sends chunks and needs another
// write for their end.
func (b *Codec) send(c echo.Context, status int, contentType string, body []byte) error {
	if ctx := c.Request().Context(); len(body) > budget.Small {
		if err := memory.Of(ctx).Settle(ctx, int64(len(body))); err != nil {
			return err
		}
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	return callerconn.InOneWrite(c.Request(), c.Response(), len(body), func() error { return c.Blob(status, contentType, body) })
}

// jsonAnswer writes an answer in pieces if its JSON is much longer than its CBOR, so that it is never in memory as a whole.
type jsonAnswer struct {
	out    *echo.Response
	status int
	begun  bool
}

func (a *jsonAnswer) write(piece []byte) error {
	if !a.begun {
		a.begun = true
		a.out.Header().Set(echo.HeaderContentType, input.TypeJSON)
		a.out.WriteHeader(a.status)
	}
	_, err := a.out.Write(piece)
	return err
}

// answerJSON sends a CBOR item as JSON.
func (b *Codec) answerJSON(c echo.Context, status int, item []byte) error {
	a := jsonAnswer{out: c.Response(), status: status}
	rest, err := wire.ToJSON(item, a.write)
	if err == nil && a.begun {
		err = a.write(rest)
	}
	switch {
	case err != nil && a.begun:
		panic(http.ErrAbortHandler) // a part has been sent, so the connection must be cut
	case err != nil:
		return world.Wrap(world.CodeInternal, err, "the answer could not be written as JSON")
	case a.begun:
		return nil
	}
	return b.send(c, status, input.TypeJSON, rest)
}
