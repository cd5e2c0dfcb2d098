package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// request is what an operation is called with, whatever it came over. The first thing that is wrong is kept in err and everything
// after it reads as absent, so a decoder asks once, at the end.
type request struct {
	codec  codec
	id     string // names the call: its repeat has the same
	from   source
	values url.Values // those of the query, once they have been asked for
	err    error
}

// source is what a transport knows of a call.
type source interface {
	// param returns a parameter of the path as it stands there, percent-encoded; ok is false if the path has none of this name.
	param(name string) (text string, ok bool)
	// rawQuery returns what stands after the question mark.
	rawQuery() string
	header() http.Header
	// item returns the body as one data item in CBOR, whatever it came as.
	item() (world.Raw, error)
	// missing reports whether the call has no body.
	missing() bool
}

func (r *request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// pathText returns a parameter of the path, percent-decoded exactly once.
func (r *request) pathText(name string, limit int) string {
	if r.err != nil {
		return ""
	}
	raw, _ := r.from.param(name)
	s, err := url.PathUnescape(raw)
	if err != nil {
		r.err = refuse.Invalid("%s in the path is not percent-encoded", name)
		return ""
	}
	r.err = checkText(name, s, limit)
	return s
}

// pathID returns a parameter of the path that is an id; "" when the path has no such parameter.
func (r *request) pathID(name string) string {
	raw, ok := r.from.param(name)
	if !ok || r.err != nil {
		return ""
	}
	if s, err := url.PathUnescape(raw); err == nil && world.ValidID(s) {
		return s
	}
	r.err = refuse.Invalid("%s %s", name, world.IDRule)
	return ""
}

// query returns the parameters after the question mark; url.Values of net/http would drop malformed ones in silence.
func (r *request) query() url.Values {
	if r.values == nil && r.err == nil {
		var err error
		if r.values, err = url.ParseQuery(r.from.rawQuery()); err != nil {
			r.err = refuse.Invalid("the query of the address is malformed")
		}
	}
	return r.values
}

// queryID returns an id, "" when absent.
func (r *request) queryID(name string) string {
	s := r.query().Get(name)
	if s != "" && !world.ValidID(s) {
		r.fail(refuse.Invalid("%s %s", name, world.IDRule))
	}
	return s
}

// page reads limit, cursor and sortOrder.
func (r *request) page() world.PageRequest {
	q := r.query()
	p := world.PageRequest{Cursor: q.Get("cursor"), Order: world.Order(q.Get("sortOrder"))}
	switch {
	case p.Order != "" && p.Order != world.Ascending && p.Order != world.Descending:
		r.fail(refuse.Invalid("sortOrder must be asc or desc"))
	case len(p.Cursor) > maxCursor:
		r.fail(refuse.Invalid("the cursor is not one of this service's"))
	case q.Has("limit"):
		n, err := strconv.ParseUint(q.Get("limit"), 10, 63)
		if err != nil || n == 0 {
			r.fail(refuse.Invalid("limit must be a positive whole number"))
		}
		p.Limit = int(min(n, maxLimit))
	}
	return p
}

// resolveNone reads resolveData.
func (r *request) resolveNone() bool {
	none, err := resolveNone(r.query().Get("resolveData"))
	if err != nil {
		r.fail(err)
	}
	return none
}

// item reads the body as one data item.
func (r *request) item() (world.Raw, error) {
	if r.err != nil {
		return nil, r.err
	}
	return r.from.item()
}

// object reads the body as a map, which messages call "body". Its err is what is wrong with the request so far.
func (r *request) object() *object {
	item, err := r.item()
	if err != nil {
		return &object{codec: r.codec, path: "body", err: err}
	}
	return r.codec.objectOf("body", item)
}

// nothing is what an operation without parameters is called with, and the answer {}.
type nothing struct{}

func decodeNothing(*request) (nothing, error) { return nothing{}, nil }

// entityRef names one entity. runID is empty where the path does not say it.
type entityRef struct {
	runID, id string
	none      bool // without its payloads
}

// decodeOne reads a path that names one entity in the parameter of that name.
func decodeOne(name string) func(*request) (entityRef, error) {
	return func(r *request) (entityRef, error) {
		ref := entityRef{runID: r.pathID("runId"), id: r.pathID(name), none: r.resolveNone()}
		return ref, r.err
	}
}

// decodeID reads a path that names one thing that has no payloads to leave out.
func decodeID(name string) func(*request) (string, error) {
	return func(r *request) (string, error) {
		id := r.pathID(name)
		return id, r.err
	}
}

// decodePage reads a list that has no parameters of its own.
func decodePage(r *request) (world.PageRequest, error) {
	page, _ := r.page(), r.resolveNone()
	return page, r.err
}
