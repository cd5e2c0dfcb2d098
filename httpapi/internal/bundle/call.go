package bundle

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/internal/wire"
)

// bundledCall is one call of a bundle: a POST if it has a body, otherwise a GET. It implements [transport.Call] and [input.Source],
// and keeps the answer.
type bundledCall struct {
	bundledAnswer
	input.Request

	bundles        *Server
	op             *operations.Operation
	path           string
	params         [operations.MostParams]string
	queryText      string
	idempotencyKey string
	body           []byte
	then           *bundledCall // the call to make next, if this one succeeds
}

// read reads a call without its `then`, and finds its operation.
func (b *bundledCall) read(a *Server, o *input.Object) error {
	b.bundles, b.path, b.idempotencyKey, b.body = a, o.Text("path", 4096), o.Text("key", transport.MaxIdempotencyKey), o.ByteString("body")
	if o.Err != nil {
		return o.Err
	}
	method, path := http.MethodPost, b.path
	if b.Missing() {
		method = http.MethodGet
		path, b.queryText, _ = strings.Cut(path, "?")
	}
	for _, op := range bundledOps {
		if op.Method == method && op.Match(path, &b.params) {
			b.op, b.From = op, b
			return nil
		}
	}
	return refuse.Invalid("%s %q cannot be part of a bundle", method, b.path)
}

// Param implements input.Source.
func (b *bundledCall) Param(name string) (text string, ok bool) {
	i := slices.Index(b.op.Names, name)
	if i < 0 {
		return "", false
	}
	return b.params[i], true
}

// RawQuery implements input.Source.
func (b *bundledCall) RawQuery() string { return b.queryText }

// Header implements input.Source.
func (b *bundledCall) Header() http.Header { return nil }

// Item implements input.Source.
func (b *bundledCall) Item() (world.Raw, error) {
	if size, limit := int64(len(b.body)), b.bundles.codec.MaxBody; size > limit {
		return nil, refuse.TooLarge(size, limit)
	}
	return b.bundles.codec.CBOR.Item(b.body)
}

// Missing implements input.Source.
func (b *bundledCall) Missing() bool { return b.body == nil }

// Admit implements transport.Call. The bundle has been admitted already.
func (b *bundledCall) Admit() error { return nil }

// Key implements transport.Call.
func (b *bundledCall) Key() string { return b.idempotencyKey }

// Identified implements transport.Call.
func (b *bundledCall) Identified(id string) { b.ID = id }

// Make implements transport.Call.
func (b *bundledCall) Make(ctx context.Context) error {
	e, err := b.op.Serve(ctx, b.bundles.ops, &b.Request)
	if err != nil {
		return err
	}
	return b.keep(ctx, e)
}

// keep stores the answer of a successful call until the bundle is answered, if there is memory for it.
func (b *bundledCall) keep(ctx context.Context, e *wire.Encoder) error {
	if err := memory.KeepAnswer(ctx, len(e.Bytes)); err != nil {
		e.Release()
		return err
	}
	b.status, b.answer = http.StatusOK, e
	return nil
}

// Refuse implements transport.Call.
func (b *bundledCall) Refuse(ctx context.Context, err error) {
	refusal := b.bundles.calls.Refusal(ctx, err, b.Origin())
	status, name := refuse.WireForm(refusal.Code)
	if refusal.RetryAfter > 0 {
		b.retryAfter = strconv.Itoa(refusal.RetryAfter)
	}
	b.status, b.answer = status, wire.BorrowEncoder()
	b.answer.Raw(refuse.Encode(refusal, status, name))
}

// Begun implements transport.Call. Nothing is sent before all calls are answered.
func (b *bundledCall) Begun() bool { return false }

// Origin implements transport.Call.
func (b *bundledCall) Origin() transport.Origin {
	return transport.Origin{Method: b.op.Method, Route: b.op.Route, Request: b.ID}
}

// Answered implements transport.Call. A call that was cut off counts as 200, as an HTTP request does.
func (b *bundledCall) Answered() (status int, bytes int64) {
	return cmp.Or(b.status, http.StatusOK), int64(len(b.bytes()))
}

// bundledAnswer is the answer to one call.
type bundledAnswer struct {
	status     int
	retryAfter string
	answer     *wire.Encoder // borrowed; nil if there is no body
}

func (a *bundledAnswer) succeeded() bool { return a.status >= 200 && a.status <= 299 }

// bytes returns the body of the answer.
func (a *bundledAnswer) bytes() []byte {
	if a.answer == nil {
		return nil
	}
	return a.answer.Bytes
}

// release returns the memory of an answer that has been copied.
func (a *bundledAnswer) release() {
	a.answer.Release()
	a.answer = nil
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
	size := 64 + len(b.bytes())
	if b.then != nil {
		size += bundledSize(b.then)
	}
	return size
}

// writeBundle writes {answers: [{status, body?, retryAfter?, then?}]} in the order of the calls.
func writeBundle(e *wire.Encoder, calls []bundledCall) {
	o := e.Object()
	o.Key("answers")
	e.Array(len(calls))
	for i := range calls {
		writeBundled(e, &calls[i])
	}
	o.End()
}

func writeBundled(e *wire.Encoder, b *bundledCall) {
	o := e.Object()
	o.Whole("status", int64(b.status))
	o.OptionalText("retryAfter", b.retryAfter)
	if body := b.bytes(); len(body) > 0 {
		o.Key("body")
		e.ByteString(body)
	}
	if b.then != nil {
		o.Key("then")
		writeBundled(e, b.then)
	}
	o.End()
}
