package httpapi

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
	"github.com/world-redis/world-redis/internal/worldtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const runID = "wrun_01HZX0000000000000000000AA"

// newServer builds a server on the fakes; change may alter its configuration.
func newServer(t *testing.T, f *fakes, change ...func(*Config, *Deps)) *Server {
	t.Helper()
	cfg, deps := Config{Listen: "127.0.0.1:0", NewRequestID: func() string { return "req_made_up" }}, f.deps()
	for _, c := range change {
		c(&cfg, &deps)
	}
	s, err := New(cfg, deps)
	require.NoError(t, err)
	t.Cleanup(s.close)
	return s
}

// call describes one request.
type call struct {
	method, target string
	host           string // 127.0.0.1:8787 if left out
	body           any    // []byte as it is, string as JSON, anything else encoded as CBOR; nil: none
	header         map[string]string
}

func (r call) request(t *testing.T) *http.Request {
	t.Helper()
	var body io.Reader
	contentType := ""
	switch b := r.body.(type) {
	case nil:
	case []byte:
		body, contentType = bytes.NewReader(b), input.TypeCBOR
	case string:
		body, contentType = strings.NewReader(b), input.TypeJSON
	case io.Reader:
		body, contentType = b, input.TypeCBOR
	default:
		encoded, err := cbor.Marshal(b)
		require.NoError(t, err)
		body, contentType = bytes.NewReader(encoded), input.TypeCBOR
	}
	req := httptest.NewRequestWithContext(t.Context(), r.method, r.target, body)
	req.Host = cmp.Or(r.host, "127.0.0.1:8787")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	return req
}

func (r call) do(t *testing.T, s *Server) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r.request(t))
	return w
}

// get makes a JSON call and returns status and body.
func get(t *testing.T, s *Server, target string) (int, string) {
	t.Helper()
	w := call{method: http.MethodGet, target: target}.do(t, s)
	return w.Code, w.Body.String()
}

// post sends CBOR or JSON and returns status and body.
func post(t *testing.T, s *Server, target string, body any) (int, string) {
	t.Helper()
	w := call{method: http.MethodPost, target: target, body: body}.do(t, s)
	return w.Code, w.Body.String()
}

// m is a map in the body of a test.
type m = map[string]any

// raw encodes a value as CBOR.
func raw(t testing.TB, v any) world.Raw {
	t.Helper()
	return worldtest.Raw(t, v)
}

// decoded reads a CBOR answer into plain values.
func decoded(t *testing.T, b []byte) any {
	t.Helper()
	return worldtest.Decoded(t, b)
}

// errorOf reads the error of a JSON answer.
func errorOf(t *testing.T, body string) m {
	t.Helper()
	item, err := wire.FromJSON([]byte(body))
	require.NoError(t, err)
	top, ok := decoded(t, item).(m)
	require.True(t, ok)
	inner, ok := top["error"].(m)
	require.True(t, ok, body)
	return inner
}
