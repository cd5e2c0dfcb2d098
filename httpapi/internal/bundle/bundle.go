// Package bundle makes the calls of bundles: several calls in one request, or in one message of a call socket.
package bundle

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/httpapi/internal/workers"
	"github.com/world-redis/world-redis/internal/wire"
)

// MaxCalls is the largest number of calls in a bundle, those in `then` included.
const MaxCalls = 64

// Path is the path of bundles and call sockets.
const Path = "/v1/calls"

// Server makes the calls of bundles for one namespace. A bundle is {calls: [{path, key?, body?, then?}]}. Its
// calls stay independent: each has its own answer, and one that fails affects only its `then`. A bundle
// saves both sides HTTP requests, and lets the Redis client send commands together.
//
// A call that waits for another is nested in it, so that an older service, which does not know `then`, makes only
// the first and gives no answer to the second. If both were in the list, with a field that orders them, that service
// would make both at once.
type Server struct {
	calls   *transport.Calls
	codec   *httpbody.Codec
	ops     *operations.API
	workers *workers.Pool
}

// bundledOps are the operations that may be part of a bundle.
var bundledOps = operations.Bundled()

// New returns a Server for one namespace.
func New(calls *transport.Calls, codec *httpbody.Codec, ops *operations.API, workers *workers.Pool) *Server {
	return &Server{calls: calls, codec: codec, ops: ops, workers: workers}
}

// Serve makes the calls of a bundle and returns {answers: [...]}, which the caller releases.
func (b *Server) Serve(ctx context.Context, body world.Raw) (*wire.Encoder, error) {
	calls, err := b.make(ctx, body)
	if err != nil {
		return nil, err
	}
	defer releaseAll(calls)
	e := wire.BorrowEncoder()
	e.Grow(wire.Sizes(calls, bundledSize) + 128)
	writeBundle(e, calls)
	return e, nil
}

// make makes the calls of a bundle. The caller releases their answers.
func (b *Server) make(ctx context.Context, body world.Raw) ([]bundledCall, error) {
	calls, err := b.bundledCalls(body)
	if err != nil {
		return nil, err
	}
	var others sync.WaitGroup
	others.Add(len(calls) - 1)
	serve := func(i int) { b.serveInOrder(ctx, &calls[i]) }
	for i := 1; i < len(calls); i++ {
		b.workers.Start(workers.Task{Make: serve, I: i, Done: &others})
	}
	serve(0)
	others.Wait()
	return calls, nil
}

// serveInOrder makes a call and, if it succeeds, the one in its `then`. Otherwise that is answered 424.
func (b *Server) serveInOrder(ctx context.Context, call *bundledCall) {
	then := call.then
	if then != nil && b.ops.AreInOrder(call.op, then.op) {
		b.servePair(ctx, call, then)
		return
	}
	b.serveBundled(ctx, call, call)
	switch {
	case then == nil:
	case call.succeeded():
		b.serveBundled(ctx, then, then)
	default:
		then.status = http.StatusFailedDependency
	}
}

// serveBundled makes one call; as is how transport sees it.
func (b *Server) serveBundled(ctx context.Context, call *bundledCall, as transport.Call) {
	defer func() {
		if r := recover(); r != nil { // a handler that has its connection cut, which the other calls need
			b.calls.Log.Info("a call of a bundle was cut off; the client makes it again", slog.String("path", call.path))
			call.bundledAnswer = bundledAnswer{status: http.StatusServiceUnavailable}
		}
	}()
	b.calls.Serve(ctx, as)
}

// bundledCalls reads the calls of a bundle.
func (b *Server) bundledCalls(body world.Raw) ([]bundledCall, error) {
	top := input.ObjectOf("body", body)
	items := top.List("calls", MaxCalls)
	if top.Err == nil && len(items) == 0 {
		return nil, refuse.Invalid("body.calls is empty")
	}
	calls := make([]bundledCall, len(items))
	count := len(items)
	for i, item := range items {
		one := input.ObjectOf("body.calls", item)
		if err := calls[i].read(b, one); err != nil {
			return nil, err
		}
		if next := one.Object("then"); next != nil {
			then := new(bundledCall)
			if err := then.read(b, next); err != nil {
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
	if count > MaxCalls {
		return nil, refuse.Invalid("body.calls has more entries than the limit of %d, those in then included", MaxCalls)
	}
	return calls, top.Err
}
