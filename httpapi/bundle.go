package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
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
	if a.noBundles {
		return world.Errorf(world.CodeNotFound, "this service takes no bundles of calls")
	}
	ctx := c.Request().Context()
	memory.Of(ctx).Bundle()
	body, err := a.ReadItem(c)
	if err != nil {
		return err
	}
	calls, err := a.serveBundle(ctx, body)
	if err != nil {
		return err
	}
	defer releaseAll(calls)
	e := wire.BorrowEncoder()
	defer e.Release()
	e.Grow(wire.Sizes(calls, bundledSize) + 128)
	writeBundle(e, calls)
	return a.Answer(c, http.StatusOK, e.Bytes)
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
	then := call.then
	if then != nil && a.isPair(call, then) {
		a.servePair(ctx, call, then)
		return
	}
	a.serveBundled(ctx, call, call)
	switch {
	case then == nil:
	case call.succeeded():
		a.serveBundled(ctx, then, then)
	default:
		then.status = http.StatusFailedDependency
	}
}

// serveBundled makes one call for the caller of the bundle; as says how.
func (a *api) serveBundled(ctx context.Context, call *bundledCall, as transport) {
	defer func() {
		if r := recover(); r != nil { // a handler that wants its connection cut; the others' must last
			a.log.Info("a call of a bundle was cut; it is made again", slog.String("path", call.path))
			call.bundledAnswer = bundledAnswer{status: http.StatusServiceUnavailable}
		}
	}()
	a.serve(ctx, as)
}

// bundledCalls reads the calls of a bundle.
func (a *api) bundledCalls(body world.Raw) ([]bundledCall, error) {
	top := input.ObjectOf("body", body)
	items := top.List("calls", maxBundle)
	if top.Err == nil && len(items) == 0 {
		return nil, refuse.Invalid("body.calls is empty")
	}
	calls := make([]bundledCall, len(items))
	count := len(items)
	for i, item := range items {
		one := input.ObjectOf("body.calls", item)
		if err := calls[i].read(a, one); err != nil {
			return nil, err
		}
		if next := one.Object("then"); next != nil {
			then := new(bundledCall)
			if err := then.read(a, next); err != nil {
				return nil, err
			}
			if next.Get("then") != nil {
				return nil, refuse.Invalid("body.calls.then.then: only one call can wait for another")
			}
			calls[i].then = then
			count++
		}
		if one.Err != nil {
			return nil, one.Err
		}
	}
	if count > maxBundle {
		return nil, refuse.Invalid("body.calls has more entries than the limit of %d, then counted", maxBundle)
	}
	return calls, top.Err
}
