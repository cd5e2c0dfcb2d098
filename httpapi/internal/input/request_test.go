package input

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// source is a [Source] with one parameter of the path and a query.
type source struct{ param, query string }

func (s source) Param(name string) (string, bool) { return s.param, name == "name" }
func (s source) RawQuery() string                 { return s.query }
func (source) Header() http.Header                { return nil }
func (source) Item() (world.Raw, error)           { return nil, errors.New("no body") }
func (source) Missing() bool                      { return true }

// A parameter of the path is decoded exactly once, and is never empty, too long or without meaning as text.
func TestPathsAreDecodedOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ param, want, sentence string }{
		"once":        {"a%252Fb", "a%2Fb", ""},
		"a slash":     {"a%2Fb", "a/b", ""},
		"the limit":   {strings.Repeat("%41", 8), "AAAAAAAA", ""},
		"too long":    {"123456789", "", "name has 9 bytes, the limit is 8"},
		"empty":       {"", "", "name is missing"},
		"not encoded": {"%zz", "", "name in the path is not percent-encoded"},
		"not UTF-8":   {"%ff", "", "name is not UTF-8"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Request{From: source{param: c.param}}
			got := r.PathText("name", 8)
			if c.sentence != "" {
				require.EqualError(t, r.Err, "invalid: "+c.sentence)
				return
			}
			require.NoError(t, r.Err)
			require.Equal(t, c.want, got)
		})
	}
	r := &Request{From: source{param: "x"}}
	require.Empty(t, r.PathID("another"), "the path has no such parameter")
	require.NoError(t, r.Err)
}

// A limit above the largest page is reduced to it; anything that is no positive number is refused.
func TestPageParameters(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]world.PageRequest{
		"":                                   {},
		"limit=1000":                         {Limit: world.MaxPage},
		"limit=9223372036854775807":          {Limit: world.MaxPage},
		"limit=1&sortOrder=desc&cursor=c%3D": {Limit: 1, Order: world.Descending, Cursor: "c="},
		"cursor=" + strings.Repeat("c", MaxCursor): {Cursor: strings.Repeat("c", MaxCursor)},
	} {
		r := &Request{From: source{query: query}}
		require.Equal(t, want, r.Page(), query)
		require.NoError(t, r.Err)
	}
	for query, sentence := range map[string]string{
		"limit=0":        "limit must be a positive whole number",
		"limit=":         "limit must be a positive whole number",
		"limit=1.5":      "limit must be a positive whole number",
		"sortOrder=down": "sortOrder must be asc or desc",
		"cursor=" + url.QueryEscape(strings.Repeat("c", MaxCursor+1)): "the cursor is not one of this service's",
		"limit=1;x=2": "the query of the address is malformed",
	} {
		r := &Request{From: source{query: query}}
		r.Page()
		require.EqualError(t, r.Err, "invalid: "+sentence, query)
	}
}

// The number of services that a request has come through is the largest that any header says. Anything that is no number counts
// as too many.
func TestHopsOf(t *testing.T) {
	t.Parallel()
	require.Zero(t, HopsOf(http.Header{}))
	require.Equal(t, 3, HopsOf(http.Header{world.HeaderHops: {"1", "3", "2"}}))
	for _, changed := range []string{"", "x", "-1", "1, 2"} {
		require.Equal(t, math.MaxInt32, HopsOf(http.Header{world.HeaderHops: {"1", changed}}), changed)
	}
}
