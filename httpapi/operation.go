package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

// operation is a line of the table in operations.go: one thing that the API can be asked for. The transports find it there: HTTP
// (http.go) and bundles (bundle.go), which also come over call sockets (call_socket.go).
type operation struct {
	method, path string // the path is written as in the OpenAPI document
	// Exactly one of these three makes its calls. serve makes those of any transport.
	serve serveFunc
	// http makes a call that only HTTP can carry, such as a live read or a bundle.
	http func(a *api, c echo.Context) error
	// own makes a call of the service itself, which belongs to no namespace.
	own func(s *Server, c echo.Context) error
	// status is that of the answer to a call that went well; 0: 200.
	status  int
	bundled bool // may be part of a bundle: it is short, frequent, and small both ways
	open    bool // needs no token
	anyHost bool // is served whatever the Host, also without a token: others call it by the name of a tunnel

	route string   // the path as metrics and logs have it
	fixed []string // the parts of the path around its parameters
	names []string // of the parameters
}

// serveFunc makes a call and returns its answer in CBOR, which the caller releases.
type serveFunc func(ctx context.Context, a *api, r *input.Request) (*wire.Encoder, error)

// serves puts the three parts of an operation together. decode reads what the operation is called with and refuses what
// is invalid, do has it done, and encode writes the result.
func serves[In, Out any](decode func(*input.Request) (In, error), do func(*api, context.Context, In) (Out, error), encode func(*wire.Encoder, Out)) serveFunc {
	return func(ctx context.Context, a *api, r *input.Request) (*wire.Encoder, error) {
		in, err := decode(r)
		if err != nil {
			return nil, err
		}
		out, err := do(a, ctx, in)
		if err != nil {
			return nil, err
		}
		e := wire.BorrowEncoder()
		encode(e, out)
		return e, nil
	}
}

// inStore is the second part of an operation that is one method of the store.
func inStore[In, Out any](method func(world.Store, context.Context, In) (Out, error)) func(*api, context.Context, In) (Out, error) {
	return func(a *api, ctx context.Context, in In) (Out, error) { return method(a.deps.Store, ctx, in) }
}

// ready returns the operation with what is derived from its path.
func (o operation) ready() operation {
	o.route = strings.NewReplacer("{", ":", "}", "").Replace(o.path)
	rest := o.path
	for {
		before, after, more := strings.Cut(rest, "{")
		o.fixed = append(o.fixed, before)
		if !more {
			return o
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		o.names = append(o.names, name)
	}
}

// match reports whether a path, as it was sent, is one of this operation, and puts its parameters into values, as they stand
// there.
func (o *operation) match(path string, values *[mostParams]string) bool {
	rest, ok := strings.CutPrefix(path, o.fixed[0])
	for i, part := range o.fixed[1:] {
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		if !ok || end == 0 || strings.IndexByte(rest[:end], '?') >= 0 {
			return false
		}
		values[i] = rest[:end]
		rest, ok = strings.CutPrefix(rest[end:], part)
	}
	return ok && rest == ""
}

// acknowledged reports whether the caller may rely on what the answer says was written. An app registers again and again. Of
// bundles and call sockets it holds for all their calls.
func (o *operation) acknowledged() bool {
	return o.method == http.MethodPost && !strings.HasPrefix(o.path, "/v1/apps") || o.path == pathCalls
}

// createsEvent reports whether the operation is to create one event.
func (o *operation) createsEvent() bool {
	return o.method == http.MethodPost && (o.path == pathEvents || o.path == pathRunEvents)
}

// bundledOf returns the operations of a table that may be part of a bundle.
func bundledOf(table []operation) []*operation {
	var bundled []*operation
	for i := range table {
		if table[i].bundled {
			bundled = append(bundled, &table[i])
		}
	}
	return bundled
}
