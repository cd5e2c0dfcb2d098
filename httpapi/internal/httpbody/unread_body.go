package httpbody

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// watchedBody is the body of a request that knows whether it was read to its end.
type watchedBody struct {
	io.ReadCloser

	ended atomic.Bool // a proxy reads in a goroutine of its own
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

// CloseUnread closes the connection after an answer that comes before its request was read to the end. net/http would
// first read the rest, without a deadline, so a caller that announces a body and sends none would hold the connection.
func CloseUnread(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength == 0 || r.Body == nil {
			return next(c)
		}
		body := &watchedBody{ReadCloser: r.Body}
		r.Body = body
		c.Response().Before(func() {
			if !body.ended.Load() {
				c.Response().Header().Set(echo.HeaderConnection, "close")
			}
		})
		err := next(c)
		if !body.ended.Load() {
			// net/http closes the body now, and reads what is left of it for that, too. Not every ResponseWriter has
			// deadlines; those of tests do not.
			_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now())
		}
		return err
	}
}
