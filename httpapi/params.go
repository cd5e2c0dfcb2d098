package httpapi

import (
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	maxID         = 256  // characters
	maxStreamName = 1024 // bytes
	maxToken      = 4096 // bytes
	maxName       = 4096 // bytes of a queue, workflow, step or deployment name
	maxCursor     = 4096 // bytes
	maxLimit      = 1000 // what a larger limit is taken as
	idRule        = "must be an id: 1 to 256 letters, digits and _ . : - (not dots alone)"
)

// validID checks an id before it becomes part of a key.
func validID(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	onlyDots := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == ':', c == '-':
			onlyDots = false
		default:
			return false
		}
	}
	return !onlyDots
}

// pathText returns a path parameter, percent-decoded exactly once; routeByEscapedPath
// sees to it that the router hands out the escaped form.
func pathText(c echo.Context, name string, limit int) (string, error) {
	s, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return "", invalid("%s in the path is not percent-encoded", name)
	}
	return s, checkText(name, s, limit)
}

func checkText(name, s string, limit int) error {
	switch {
	case s == "":
		return invalid("%s is missing", name)
	case len(s) > limit:
		return invalid("%s has %d bytes, the limit is %d", name, len(s), limit)
	case !utf8.ValidString(s):
		return invalid("%s is not UTF-8", name)
	default:
		return nil
	}
}

// pathID returns a path parameter that is an id; "" when the route has no such parameter.
func pathID(c echo.Context, name string) (string, error) {
	raw := c.Param(name)
	for _, known := range c.ParamNames() {
		if known != name {
			continue
		}
		if s, err := url.PathUnescape(raw); err == nil && validID(s) {
			return s, nil
		}
		return "", invalid("%s %s", name, idRule)
	}
	return "", nil
}

// query reads the parameters after the question mark; url.Values of net/http would drop
// malformed ones in silence.
type query struct{ values url.Values }

func queryOf(c echo.Context) (query, error) {
	values, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return query{}, invalid("the query of the address is malformed")
	}
	return query{values}, nil
}

// id returns an id, "" when absent.
func (q query) id(name string) (string, error) {
	s := q.values.Get(name)
	if s != "" && !validID(s) {
		return "", invalid("%s %s", name, idRule)
	}
	return s, nil
}

// page reads limit, cursor and sortOrder.
func (q query) page() (world.PageRequest, error) {
	p := world.PageRequest{Cursor: q.values.Get("cursor"), Order: world.Order(q.values.Get("sortOrder"))}
	if p.Order != "" && p.Order != world.Ascending && p.Order != world.Descending {
		return p, invalid("sortOrder must be asc or desc")
	}
	if len(p.Cursor) > maxCursor {
		return p, invalid("the cursor is not one of this service's")
	}
	if q.values.Has("limit") {
		n, err := strconv.ParseUint(q.values.Get("limit"), 10, 63)
		if err != nil || n == 0 {
			return p, invalid("limit must be a positive whole number")
		}
		p.Limit = int(min(n, maxLimit))
	}
	return p, nil
}

// resolveNone reads resolveData.
func (q query) resolveNone() (bool, error) { return resolveNone(q.values.Get("resolveData")) }

func resolveNone(resolveData string) (bool, error) {
	switch resolveData {
	case "", "all":
		return false, nil
	case "none":
		return true, nil
	default:
		return false, invalid("resolveData must be all or none")
	}
}

// listQuery reads what every list has.
func listQuery(c echo.Context) (q query, p world.PageRequest, none bool, err error) {
	if q, err = queryOf(c); err != nil {
		return q, p, none, err
	}
	if p, err = q.page(); err != nil {
		return q, p, none, err
	}
	none, err = q.resolveNone()
	return q, p, none, err
}

// getQuery reads what every single entity has.
func getQuery(c echo.Context) (q query, none bool, err error) {
	if q, err = queryOf(c); err != nil {
		return q, false, err
	}
	none, err = q.resolveNone()
	return q, none, err
}
