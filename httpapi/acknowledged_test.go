package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every call that writes for its caller waits for replicas if configured: all POST calls except registrations, which
// are repeated anyway, and both forms of bundles.
func TestAcknowledgedRoutes(t *testing.T) {
	t.Parallel()
	var others []string
	for _, r := range newServer(t, newFakes(t)).routes {
		switch {
		case r.open:
		case r.path == "/v1/calls":
			require.True(t, r.acknowledged(), r.method)
		case r.method == http.MethodPost && !r.acknowledged():
			others = append(others, r.path)
		case r.method == http.MethodGet:
			require.False(t, r.acknowledged(), r.path)
		}
	}
	require.Equal(t, []string{"/v1/apps", "/v1/apps/unregister"}, others)
}
