package httpbody

import (
	"mime"
	"net/http"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// MediaType returns a header's media type without parameters, in lower case.
func MediaType(header string) string {
	t, _, err := mime.ParseMediaType(header)
	if err != nil {
		t, _, _ = strings.Cut(header, ";")
		return strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

// Accepts reports whether the Accept header names the media type itself.
func Accepts(r *http.Request, mediaTypeWanted string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			if MediaType(part) == mediaTypeWanted {
				return true
			}
		}
	}
	return false
}

// answersCBOR chooses the encoding of the answer: that of Accept, otherwise that of
// the request, otherwise JSON. If Accept names both, it is CBOR.
func answersCBOR(r *http.Request) bool {
	switch {
	case Accepts(r, input.TypeCBOR):
		return true
	case Accepts(r, input.TypeJSON):
		return false
	default:
		return MediaType(r.Header.Get("Content-Type")) == input.TypeCBOR
	}
}

// UnsupportedMedia returns the error for a Content-Type.
func UnsupportedMedia(got string, want ...string) error {
	if got == "" {
		got = "(none)"
	}
	return world.Errorf(refuse.CodeUnsupportedMedia, "Content-Type is %s, it must be %s", got, strings.Join(want, " or "))
}
