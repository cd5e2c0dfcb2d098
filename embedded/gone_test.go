package embedded_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only an address that refuses connections is gone: not one that gives any answer, nor one that cannot be parsed or
// resolved.
func TestGoneMeansThatNobodyListens(t *testing.T) {
	t.Parallel()
	f := newForwarder(t)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(app.Close)
	require.False(t, f.Gone(t.Context(), app.URL+"/base"))
	app.Close()
	require.True(t, f.Gone(t.Context(), app.URL+"/base"))
	for _, address := range []string{"", "http://", "://", "http://no such host", "http://app.invalid:3000"} {
		require.False(t, f.Gone(t.Context(), address), address)
	}
}
