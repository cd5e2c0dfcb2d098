package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// jsonAnswer writes an answer that has become much longer than its CBOR in pieces, so that it is never in memory whole.
type jsonAnswer struct {
	out    *echo.Response
	status int
	begun  bool
}

func (a *jsonAnswer) write(piece []byte) error {
	if !a.begun {
		a.begun = true
		a.out.Header().Set(echo.HeaderContentType, typeJSON)
		a.out.WriteHeader(a.status)
	}
	_, err := a.out.Write(piece)
	return err
}

// answerJSON sends a CBOR item as JSON.
func (s *shared) answerJSON(c echo.Context, status int, item []byte) error {
	a := jsonAnswer{out: c.Response(), status: status}
	rest, err := wire.ToJSON(item, a.write)
	if err == nil && a.begun {
		err = a.write(rest)
	}
	switch {
	case err != nil && a.begun:
		panic(http.ErrAbortHandler) // the caller is gone, or sees an answer that is cut: what is out cannot be taken back
	case err != nil:
		return world.Wrap(world.CodeInternal, err, "the answer could not be written as JSON")
	case a.begun:
		return nil
	}
	return s.send(c, status, typeJSON, rest)
}
