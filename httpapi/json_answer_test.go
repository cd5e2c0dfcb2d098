package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// emptyBytes is an item with n empty byte strings, each of which is 34 times as long in JSON.
func emptyBytes(n int) world.Raw {
	return append(cboritem.AppendHead(nil, cboritem.MajorArray, uint64(n)), bytes.Repeat([]byte{cboritem.MajorBytes << 5}, n)...)
}

// The caller gets the whole answer, and a caller that disconnects ends it.
func TestAJSONAnswerInPieces(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	const n = 1_000_000
	f.store.getRun = func(context.Context, string, bool) (world.Run, error) {
		return world.Run{RunID: runID, Status: world.RunRunning, Input: emptyBytes(n)}, nil
	}
	s := newServer(t, f)
	base := serve(t, s)
	get := func() *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/runs/"+runID, nil)
		require.NoError(t, err)
		request.Header.Set("Accept", input.TypeJSON)
		resp, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, input.TypeJSON, resp.Header.Get("Content-Type"))
		return resp
	}
	gone := get()
	require.NoError(t, gone.Body.Close())
	resp := get()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.True(t, json.Valid(body))
	require.Equal(t, n, strings.Count(string(body), `{"__type":"Uint8Array","data":""}`))
}
