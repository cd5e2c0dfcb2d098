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

// maxBundle is how many calls one bundle may have, with those that are made after another.
const maxBundle = 64

// bundledCall is one call of a bundle: a POST when it has a body, else a GET. then is the one to
// make after it, if it succeeds.
type bundledCall struct {
	path, key string
	body      []byte
	then      *bundledCall
}

func (b *bundledCall) method() string {
	if b.body == nil {
		return http.MethodGet
	}
	return http.MethodPost
}

// bundle serves {calls: [{path, key?, body?, then?}]}: several calls in one request, each with an
// answer of its own, as if they had come at the same moment on connections of their own. It
// saves both sides the handling of HTTP requests and gives the driver of Redis commands to send
// together. One that fails does not touch the others, but for its then.
//
// The next call stands inside the one that it waits for, and not beside it with a note to wait: a
// service that does not know then does not see it, does the first alone and gives no answer to the
// next. One that overlooked a note would make both at once.
func (s *Server) bundle(c echo.Context) error {
	holdingOf(c.Request().Context()).bundled = true
	body, err := s.readItem(c)
	if err != nil {
		return err
	}
	answers, err := s.serveBundle(c.Request(), body)
	if err != nil {
		return err
	}
	defer releaseAll(answers)
	return answerOne(s, c, &answers, sizes(answers, bundledSize), writeBundle)
}

// serveBundle makes the calls of a bundle for whoever made the outer request. The answers are to be released.
func (s *Server) serveBundle(outer *http.Request, body world.Raw) ([]bundledAnswer, error) {
	calls, err := s.codec.bundledCalls(body)
	if err != nil {
		return nil, err
	}
	answers := make([]bundledAnswer, len(calls))
	var others sync.WaitGroup
	others.Add(len(calls) - 1)
	serve := func(i int) { s.serveInOrder(outer, &calls[i], &answers[i]) }
	for i := 1; i < len(calls); i++ {
		s.crew.start(task{make: serve, i: i, done: &others})
	}
	serve(0)
	others.Wait()
	return answers, nil
}

func (d codec) bundledCalls(body world.Raw) ([]bundledCall, error) {
	top := d.objectOf("body", body)
	items := top.list("calls", maxBundle)
	if top.err == nil && len(items) == 0 {
		return nil, invalid("body.calls is empty")
	}
	calls := make([]bundledCall, 0, len(items))
	count := len(items)
	for _, item := range items {
		one := d.objectOf("body.calls", item)
		call, err := one.bundledCall()
		if err != nil {
			return nil, err
		}
		if next := one.object("then"); next != nil {
			then, err := next.bundledCall()
			if err != nil {
				return nil, err
			}
			if next.get("then") != nil {
				return nil, invalid("body.calls.then.then: only one call can wait for another")
			}
			call.then = &then
			count++
		}
		if one.err != nil {
			return nil, one.err
		}
		calls = append(calls, call)
	}
	if count > maxBundle {
		return nil, invalid("body.calls has more entries than the limit of %d, then counted", maxBundle)
	}
	return calls, top.err
}

// bundledCall reads one call without its then.
func (o *object) bundledCall() (bundledCall, error) {
	call := bundledCall{path: o.text("path", 4096), key: o.text("key", maxIdempotencyKey), body: o.byteString("body")}
	if o.err != nil {
		return call, o.err
	}
	if !maybeBundled(call.method(), call.path) {
		return call, invalid("%s %q cannot be part of a bundle", call.method(), call.path)
	}
	return call, nil
}

// maybeBundled reports whether a call is one of those that are short, many, and small both ways.
func maybeBundled(method, path string) bool {
	ofRun, run := strings.CutPrefix(path, "/v1/runs/")
	if method == http.MethodPost {
		runID, ok := strings.CutSuffix(ofRun, "/events")
		return path == routeEvents || path == routeQueue || run && ok && plainSegment(runID)
	}
	ofRun, _, _ = strings.Cut(ofRun, "?")
	runID, stepID, step := strings.Cut(ofRun, "/steps/")
	return run && plainSegment(runID) && (!step || plainSegment(stepID))
}

func plainSegment(s string) bool { return s != "" && !strings.ContainsAny(s, "/?") }

// serveBundled makes one call for the caller of the bundle: an event at once, anything else as a request
// that is sent through the routes.
func (s *Server) serveBundled(outer *http.Request, call *bundledCall, answer *bundledAnswer) {
	defer func() {
		if r := recover(); r != nil { // a handler that wants its connection cut; the others' must last
			s.log.Info("a call of a bundle was cut; it is made again", slog.String("path", call.path))
			*answer = bundledAnswer{status: http.StatusServiceUnavailable}
		}
	}()
	s.makeBundled(outer, call, answer)
	if ctx := outer.Context(); len(answer.body) > smallAnswer && answer.succeeded() {
		if err := holdingOf(ctx).answered(ctx, int64(len(answer.body))); err != nil {
			answer.release()
			s.refuseBundled(err, origin{ctx: ctx}, answer)
		}
	}
}

func (s *Server) makeBundled(outer *http.Request, call *bundledCall, answer *bundledAnswer) {
	if runID, ok := call.runOfEvent(); ok {
		s.serveBundledEvent(outer.Context(), call, runID, answer)
		return
	}
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
	lent   *encoder       // holds body, if not nil
	then   *bundledAnswer // of the call after it, if there is one
}

// release gives back the memory of an answer that has been copied.
func (a *bundledAnswer) release() {
	a.lent.release()
	a.lent, a.body = nil, nil
	if a.then != nil {
		a.then.release()
	}
}

func releaseAll(answers []bundledAnswer) {
	for i := range answers {
		answers[i].release()
	}
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

func bundledSize(a *bundledAnswer) int {
	size := 64 + len(a.body)
	if a.then != nil {
		size += bundledSize(a.then)
	}
	return size
}

// writeBundle writes {answers: [{status, body?, retryAfter?, then?}]} in the order of the calls.
func writeBundle(e *encoder, answers *[]bundledAnswer) {
	o := e.object()
	o.key("answers")
	e.array(len(*answers))
	for i := range *answers {
		writeBundled(e, &(*answers)[i])
	}
	o.end()
}

func writeBundled(e *encoder, a *bundledAnswer) {
	o := e.object()
	o.whole("status", int64(a.status))
	if a.header != nil {
		o.optionalText("retryAfter", a.header.Get(echo.HeaderRetryAfter))
	}
	if len(a.body) > 0 {
		o.key("body")
		e.byteString(a.body)
	}
	if a.then != nil {
		o.key("then")
		writeBundled(e, a.then)
	}
	o.end()
}
