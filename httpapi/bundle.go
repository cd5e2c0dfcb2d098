package httpapi

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// maxBundle is how many calls one bundle may have.
const maxBundle = 64

// bundledCall is one call of a bundle: a POST when it has a body, else a GET.
type bundledCall struct {
	path, key string
	body      []byte
}

func (b *bundledCall) method() string {
	if b.body == nil {
		return http.MethodGet
	}
	return http.MethodPost
}

// bundle serves {calls: [{path, key?, body?}]}: several calls in one request, each with an
// answer of its own, as if they had come at the same moment on connections of their own. It
// saves both sides the handling of HTTP requests and gives the driver of Redis commands to send
// together. One that fails does not touch the others.
func (s *Server) bundle(c echo.Context) error {
	body, err := s.readItem(c)
	if err != nil {
		return err
	}
	calls, err := s.codec.bundledCalls(body)
	if err != nil {
		return err
	}
	answers := make([]bundledAnswer, len(calls))
	var others sync.WaitGroup
	for i := range calls[1:] {
		others.Go(func() {
			makeRoom(i)
			s.serveBundled(c.Request(), &calls[i+1], &answers[i+1])
		})
	}
	s.serveBundled(c.Request(), &calls[0], &answers[0])
	others.Wait()
	return answerOne(s, c, &answers, sizes(answers, bundledSize), writeBundle)
}

func (d codec) bundledCalls(body world.Raw) ([]bundledCall, error) {
	top := d.objectOf("body", body)
	items := top.list("calls", maxBundle)
	if top.err == nil && len(items) == 0 {
		return nil, invalid("body.calls is empty")
	}
	calls := make([]bundledCall, 0, len(items))
	for _, item := range items {
		one := d.objectOf("body.calls", item)
		call := bundledCall{path: one.text("path", 4096), key: one.text("key", maxIdempotencyKey), body: one.byteString("body")}
		if one.err != nil {
			return nil, one.err
		}
		if !maybeBundled(call.method(), call.path) {
			return nil, invalid("%s %q cannot be part of a bundle", call.method(), call.path)
		}
		calls = append(calls, call)
	}
	return calls, top.err
}

// maybeBundled reports whether a call is one of those that are short, many, and small both ways.
func maybeBundled(method, path string) bool {
	ofRun, run := strings.CutPrefix(path, "/v1/runs/")
	if method == http.MethodPost {
		runID, ok := strings.CutSuffix(ofRun, "/events")
		return path == "/v1/events" || path == "/v1/queue" || run && ok && plainSegment(runID)
	}
	ofRun, _, _ = strings.Cut(ofRun, "?")
	runID, stepID, step := strings.Cut(ofRun, "/steps/")
	return run && plainSegment(runID) && (!step || plainSegment(stepID))
}

func plainSegment(s string) bool { return s != "" && !strings.ContainsAny(s, "/?") }

// serveBundled sends one call through the routes, as a request of the caller of the bundle.
func (s *Server) serveBundled(outer *http.Request, call *bundledCall, answer *bundledAnswer) {
	defer func() {
		if r := recover(); r != nil { // a handler that wants its connection cut; the others' must last
			s.log.Warn("a call of a bundle was cut", slog.String("path", call.path))
			*answer = bundledAnswer{status: http.StatusServiceUnavailable}
		}
	}()
	target, err := url.ParseRequestURI(call.path)
	if err != nil {
		answer.status = http.StatusBadRequest
		return
	}
	header := http.Header{echo.HeaderAccept: {typeCBOR}, echo.HeaderAuthorization: outer.Header[echo.HeaderAuthorization]}
	if call.body != nil {
		header[echo.HeaderContentType] = []string{typeCBOR}
	}
	if call.key != "" {
		header[headerIdempotencyKey] = []string{call.key}
	}
	r := (&http.Request{
		Method: call.method(), URL: target, RequestURI: call.path, Header: header, Host: outer.Host,
		Proto: outer.Proto, ProtoMajor: outer.ProtoMajor, ProtoMinor: outer.ProtoMinor,
		Body: io.NopCloser(bytes.NewReader(call.body)), ContentLength: int64(len(call.body)), RemoteAddr: outer.RemoteAddr,
	}).WithContext(outer.Context())
	s.echo.ServeHTTP(answer, r)
}

// bundledAnswer takes the answer of one call.
type bundledAnswer struct {
	header http.Header
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (a *bundledAnswer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements http.ResponseWriter.
func (a *bundledAnswer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *bundledAnswer) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

// makeRoom lets a fresh goroutine grow its stack in one step, while there is nothing on it. A call
// goes deep, and growing by doubling on the way took a tenth of the service's time.
//
//go:noinline
func makeRoom(i int) byte {
	var room [12 << 10]byte
	room[i%len(room)]++ // or the compiler would see that there need not be any
	return room[len(room)/2]
}

func bundledSize(a *bundledAnswer) int { return 64 + len(a.body) }

// writeBundle writes {answers: [{status, body?, retryAfter?}]} in the order of the calls.
func writeBundle(e *encoder, answers *[]bundledAnswer) {
	o := e.object()
	o.key("answers")
	e.array(len(*answers))
	for i := range *answers {
		a := &(*answers)[i]
		one := e.object()
		one.whole("status", int64(a.status))
		one.optionalText("retryAfter", a.header.Get(echo.HeaderRetryAfter))
		if len(a.body) > 0 {
			one.key("body")
			e.byteString(a.body)
		}
		one.end()
	}
	o.end()
}
