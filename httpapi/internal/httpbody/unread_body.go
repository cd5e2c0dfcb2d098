package httpbody

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// watchedBody records whether a body was read to its end.
type watchedBody struct {
	io.ReadCloser

	ended atomic.Bool // a proxy reads in another goroutine
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended.Store(true)
	}
	return n, err
}

// CloseUnread closes the connection after an answer if the body was not read to its end. net/http would
// first read the rest, without a deadline, so a caller that announces a body and sends none would keep the connection.
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
			// net/http also reads the rest when it closes the body, which it does now. The ResponseWriters of some tests
			// have no deadlines.
			_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now())
		}
		return err
	}
}
