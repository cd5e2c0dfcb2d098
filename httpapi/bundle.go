package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// maxBundle is how many calls one bundle may have, with those that are made after another.
const maxBundle = 64

// bundle serves {calls: [{path, key?, body?, then?}]}: several calls in one request, each with an
// answer of its own, as if they had come at the same time on connections of their own. It
// saves both sides the handling of HTTP requests and gives the driver of Redis commands to send
// together. One that fails does not touch the others, but for its then.
//
// The next call stands inside the one that it waits for, and not beside it with a note to wait: a
// service that does not know then does not see it, does the first alone and gives no answer to the
// next. One that overlooked a note would make both at once.
func (a *api) bundle(c echo.Context) error {
	ctx := c.Request().Context()
	holdingOf(ctx).bundled = true
	body, err := a.readItem(c)
	if err != nil {
		return err
	}
	calls, err := a.serveBundle(ctx, body)
	if err != nil {
		return err
	}
	defer releaseAll(calls)
	e := borrowEncoder()
	defer e.release()
	e.grow(sizes(calls, bundledSize) + 128)
	writeBundle(e, calls)
	return a.answer(c, http.StatusOK, e.bytes)
}

// serveBundle makes the calls of a bundle of an authenticated caller. Their answers are to be released.
func (a *api) serveBundle(ctx context.Context, body world.Raw) ([]bundledCall, error) {
	calls, err := a.bundledCalls(body)
	if err != nil {
		return nil, err
	}
	var others sync.WaitGroup
	others.Add(len(calls) - 1)
	serve := func(i int) { a.serveInOrder(ctx, &calls[i]) }
	for i := 1; i < len(calls); i++ {
		a.crew.start(task{make: serve, i: i, done: &others})
	}
	serve(0)
	others.Wait()
	return calls, nil
}

// serveInOrder makes a call, and the one after it once the first has succeeded. If it has not, the second is answered 424.
func (a *api) serveInOrder(ctx context.Context, call *bundledCall) {
	then, queued := call.then, false
	if then != nil && a.isPair(call, then) {
		queued = a.servePair(ctx, call, then)
	} else {
		a.serveBundled(ctx, call)
	}
	switch {
	case then == nil || queued:
	case call.succeeded():
		a.serveBundled(ctx, then)
	default:
		then.status = http.StatusFailedDependency
	}
}

// serveBundled makes one call for the caller of the bundle.
func (a *api) serveBundled(ctx context.Context, call *bundledCall) {
	defer func() {
		if r := recover(); r != nil { // a handler that wants its connection cut; the others' must last
			a.log.Info("a call of a bundle was cut; it is made again", slog.String("path", call.path))
			call.bundledAnswer = bundledAnswer{status: http.StatusServiceUnavailable}
		}
	}()
	a.serve(ctx, call)
}

// bundledCalls reads the calls of a bundle.
func (a *api) bundledCalls(body world.Raw) ([]bundledCall, error) {
	top := a.codec.objectOf("body", body)
	items := top.list("calls", maxBundle)
	if top.err == nil && len(items) == 0 {
		return nil, invalid("body.calls is empty")
	}
	calls := make([]bundledCall, len(items))
	count := len(items)
	for i, item := range items {
		one := a.codec.objectOf("body.calls", item)
		if err := calls[i].read(a, one); err != nil {
			return nil, err
		}
		if next := one.object("then"); next != nil {
			then := new(bundledCall)
			if err := then.read(a, next); err != nil {
				return nil, err
			}
			if next.get("then") != nil {
				return nil, invalid("body.calls.then.then: only one call can wait for another")
			}
			calls[i].then = then
			count++
		}
		if one.err != nil {
			return nil, one.err
		}
	}
	if count > maxBundle {
		return nil, invalid("body.calls has more entries than the limit of %d, then counted", maxBundle)
	}
	return calls, top.err
}

// bundledCall is one call of a bundle: a POST when it has a body, else a GET. It is the call's [transport], and its answer.
type bundledCall struct {
	bundledAnswer
	request

	api            *api
	op             *operation
	path           string
	idempotencyKey string
	sent           []byte       // its body
	then           *bundledCall // the one to make after it, if it succeeds
}

// read reads a call without its then, and finds what it calls.
func (b *bundledCall) read(a *api, o *object) error {
	b.api, b.path, b.idempotencyKey, b.sent = a, o.text("path", 4096), o.text("key", maxIdempotencyKey), o.byteString("body")
	if o.err != nil {
		return o.err
	}
	method, path := http.MethodPost, b.path
	if b.missing() {
		method = http.MethodGet
		path, b.rawQuery, _ = strings.Cut(path, "?")
	}
	for _, op := range a.bundled {
		if op.method == method && op.match(path, &b.params) {
			b.op, b.codec, b.names, b.from = op, a.codec, op.names, b
			return nil
		}
	}
	return invalid("%s %q cannot be part of a bundle", method, b.path)
}

func (b *bundledCall) item() (world.Raw, error) {
	if size, limit := int64(len(b.sent)), b.api.maxBody; size > limit {
		return nil, tooLarge(size, limit)
	}
	return b.codec.item(b.sent)
}

func (b *bundledCall) missing() bool { return b.sent == nil }

// admit implements transport: the bundle has been admitted.
func (b *bundledCall) admit() error { return nil }

func (b *bundledCall) key() string { return b.idempotencyKey }

func (b *bundledCall) identified(id string) { b.id = id }

// make implements transport.
func (b *bundledCall) make(ctx context.Context) error {
	e, err := b.op.serve(ctx, b.api, &b.request)
	if err != nil {
		return err
	}
	return b.keep(ctx, e)
}

// keep keeps the answer of a call that went well until it is sent with those of the others, if there is room for it.
func (b *bundledCall) keep(ctx context.Context, e *encoder) error {
	if len(e.bytes) > smallAnswer {
		if err := holdingOf(ctx).answered(ctx, int64(len(e.bytes))); err != nil {
			e.release()
			return err
		}
	}
	b.status, b.lent, b.answer = http.StatusOK, e, e.bytes
	return nil
}

func (b *bundledCall) refuse(ctx context.Context, err error) {
	refusal := b.api.refusalOf(ctx, err, b.origin())
	status, name := wireForm(refusal.Code)
	if refusal.RetryAfter > 0 {
		b.retryAfter = strconv.Itoa(refusal.RetryAfter)
	}
	b.status, b.answer = status, encodeError(refusal, status, name)
}

// begun implements transport: an answer leaves with those of the others.
func (b *bundledCall) begun() bool { return false }

func (b *bundledCall) origin() origin {
	return origin{method: b.op.method, route: b.op.route, request: b.id}
}

// answered implements transport. One that is cut counts as answered, as a request of HTTP does.
func (b *bundledCall) answered() (status int, bytes int64) {
	return cmp.Or(b.status, http.StatusOK), int64(len(b.answer))
}

// bundledAnswer is the answer to one call.
type bundledAnswer struct {
	status     int
	retryAfter string
	answer     []byte
	lent       *encoder // holds answer, if not nil
}

func (a *bundledAnswer) succeeded() bool { return a.status >= 200 && a.status <= 299 }

// release gives back the memory of an answer that has been copied.
func (a *bundledAnswer) release() {
	a.lent.release()
	a.lent, a.answer = nil, nil
}

func releaseAll(calls []bundledCall) {
	for i := range calls {
		calls[i].release()
		if then := calls[i].then; then != nil {
			then.release()
		}
	}
}

func bundledSize(b *bundledCall) int {
	size := 64 + len(b.answer)
	if b.then != nil {
		size += bundledSize(b.then)
	}
	return size
}

// writeBundle writes {answers: [{status, body?, retryAfter?, then?}]} in the order of the calls.
func writeBundle(e *encoder, calls []bundledCall) {
	o := e.object()
	o.key("answers")
	e.array(len(calls))
	for i := range calls {
		writeBundled(e, &calls[i])
	}
	o.end()
}

func writeBundled(e *encoder, b *bundledCall) {
	o := e.object()
	o.whole("status", int64(b.status))
	o.optionalText("retryAfter", b.retryAfter)
	if len(b.answer) > 0 {
		o.key("body")
		e.byteString(b.answer)
	}
	if b.then != nil {
		o.key("then")
		writeBundled(e, b.then)
	}
	o.end()
}
