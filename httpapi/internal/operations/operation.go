package operations

import (
	"net/http"
	"strings"
)

// Operation is a line of the table in table.go: one thing that the API can be asked for. The transports find it there.
type Operation struct {
	Method, Path string // the path is written as in the OpenAPI document
	// Serve makes its calls.
	Serve serveFunc
	// Status is the HTTP status of a successful call; 0: 200.
	Status  int
	bundled bool // may be part of a bundle: it is short and frequent, and its request and answer are small

	Route string   // the path as metrics and logs have it
	fixed []string // the parts of the path around its parameters
	Names []string // of the parameters
}

// RouteOf returns a path as the router, metrics and logs have it.
func RouteOf(path string) string { return strings.NewReplacer("{", ":", "}", "").Replace(path) }

// ready returns the operation with what is derived from its path.
func (o Operation) ready() Operation {
	o.Route = RouteOf(o.Path)
	rest := o.Path
	for {
		before, after, more := strings.Cut(rest, "{")
		o.fixed = append(o.fixed, before)
		if !more {
			return o
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		o.Names = append(o.Names, name)
	}
}

// Match reports whether a path, as it was sent, is one of this operation, and puts its parameters into values, as they stand
// there.
func (o *Operation) Match(path string, values *[MostParams]string) bool {
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

// createsEvent reports whether the operation is to create one event.
func (o *Operation) createsEvent() bool {
	return o.Method == http.MethodPost && (o.Path == pathEvents || o.Path == pathRunEvents)
}

// Bundled returns the operations that may be part of a bundle.
func Bundled() []*Operation {
	table := Table()
	var bundled []*Operation
	for i := range table {
		if table[i].bundled {
			bundled = append(bundled, &table[i])
		}
	}
	return bundled
}
