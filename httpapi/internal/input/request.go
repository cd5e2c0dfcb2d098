package input

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// Request is what an operation is called with, over any transport. The first mistake is kept in Err, and everything
// read after it is absent, so a decoder checks Err once, at the end.
type Request struct {
	ID   string // of the call; a repeat has the same
	From Source
	Err  error

	values url.Values // of the query, once they were read
}

// Source is what a transport knows of a call.
type Source interface {
	// Param returns a parameter of the path, still percent-encoded; ok is false if the path has no parameter of this name.
	Param(name string) (text string, ok bool)
	// RawQuery returns the text after the question mark.
	RawQuery() string
	Header() http.Header
	// Item returns the body as one data item in CBOR; a JSON body is converted.
	Item() (world.Raw, error)
	// Missing reports whether the call has no body.
	Missing() bool
}

// Fail records what is wrong with the request, unless something is recorded already.
func (r *Request) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// PathText returns a parameter of the path, percent-decoded exactly once.
func (r *Request) PathText(name string, limit int) string {
	if r.Err != nil {
		return ""
	}
	raw, _ := r.From.Param(name)
	s, err := url.PathUnescape(raw)
	if err != nil {
		r.Err = refuse.Invalid("%s in the path is not percent-encoded", name)
		return ""
	}
	r.Err = CheckText(name, s, limit)
	return s
}

// PathID returns a parameter of the path that is an id, "" if the path has no such parameter.
func (r *Request) PathID(name string) string {
	raw, ok := r.From.Param(name)
	if !ok || r.Err != nil {
		return ""
	}
	s, err := url.PathUnescape(raw)
	if err != nil {
		s = "" // which is no id
	}
	r.Err = world.CheckID(name, s)
	return s
}

// Query returns the parameters of the query. It refuses malformed ones, which net/http would drop silently.
func (r *Request) Query() url.Values {
	if r.values == nil && r.Err == nil {
		var err error
		if r.values, err = url.ParseQuery(r.From.RawQuery()); err != nil {
			r.Err = refuse.Invalid("the query of the address is malformed")
		}
	}
	return r.values
}

// QueryID returns a parameter of the query that is an id, "" if absent.
func (r *Request) QueryID(name string) string {
	s := r.Query().Get(name)
	if s != "" {
		r.Fail(world.CheckID(name, s))
	}
	return s
}

// Page reads limit, cursor and sortOrder.
func (r *Request) Page() world.PageRequest {
	q := r.Query()
	p := world.PageRequest{Cursor: q.Get("cursor"), Order: world.Order(q.Get("sortOrder"))}
	switch {
	case p.Order != "" && p.Order != world.Ascending && p.Order != world.Descending:
		r.Fail(refuse.Invalid("sortOrder must be asc or desc"))
	case len(p.Cursor) > MaxCursor:
		r.Fail(refuse.Invalid("the cursor is not one of this service's"))
	case q.Has("limit"):
		n, err := strconv.ParseUint(q.Get("limit"), 10, 63)
		if err != nil || n == 0 {
			r.Fail(refuse.Invalid("limit must be a positive whole number"))
		}
		p.Limit = int(min(n, world.MaxPage))
	}
	return p
}

// ResolveNone reads resolveData.
func (r *Request) ResolveNone() bool {
	none, err := resolveNone(r.Query().Get("resolveData"))
	if err != nil {
		r.Fail(err)
	}
	return none
}

// Item reads the body as one data item.
func (r *Request) Item() (world.Raw, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	return r.From.Item()
}

// Object reads the body as a map, which error messages call "body". Its Err is that of the request, if it has one.
func (r *Request) Object() *Object {
	item, err := r.Item()
	if err != nil {
		return &Object{Path: "body", Err: err}
	}
	return ObjectOf("body", item)
}
