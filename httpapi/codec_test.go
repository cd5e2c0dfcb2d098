package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// The answer has the encoding that Accept names, otherwise the request's, otherwise JSON.
func TestAnswerEncoding(t *testing.T) {
	t.Parallel()
	cases := []struct{ accept, contentType, want string }{
		{"", "", input.TypeJSON},
		{"*/*", "", input.TypeJSON},
		{"*/*", input.TypeCBOR, input.TypeCBOR},
		{input.TypeJSON, input.TypeCBOR, input.TypeJSON},
		{input.TypeCBOR, input.TypeJSON, input.TypeCBOR},
		{"text/html, application/cbor;q=0.9", "", input.TypeCBOR},
		{"Application/JSON; charset=utf-8", input.TypeCBOR, input.TypeJSON},
		{"", "application/json; charset=utf-8", input.TypeJSON},
		{"application/cborx", "", input.TypeJSON},
	}
	s := newServer(t, newFakes(t))
	for _, c := range cases {
		w := call{method: http.MethodGet, target: "/healthz", header: map[string]string{"Accept": c.accept, "Content-Type": c.contentType}}.do(t, s)
		require.Equal(t, c.want, w.Header().Get("Content-Type"), c)
		want := []byte(`{"status":"ok"}`)
		if c.want == input.TypeCBOR {
			want = unhex(t, "a166737461747573626f6b")
		}
		require.Equal(t, want, w.Body.Bytes())
	}
}
