package embedded

import (
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/dialpolicy"
)

func TestConnectionsToAppsAreQuietUnlessThatIsOff(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(app.Close)
	for _, off := range []bool{false, true} {
		transport := newTransport(Config{Policy: dialpolicy.New(dialpolicy.Hosts{}), NoQuietConns: off})
		conn, err := transport.DialContext(t.Context(), "tcp", strings.TrimPrefix(app.URL, "http://"))
		require.NoError(t, err)
		_, plain := conn.(*net.TCPConn)
		require.Equal(t, off || runtime.GOOS != "linux", plain)
		require.NoError(t, conn.Close())
	}
}
