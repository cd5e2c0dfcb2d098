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
)

// emptyBytes is an item of so many byte strings of nothing, each of which is 34 times as long in JSON.
func emptyBytes(n int) world.Raw {
	return append(world.AppendItemHead(nil, majorArray, uint64(n)), bytes.Repeat([]byte{majorBytes << 5}, n)...)
}

// Text that becomes much longer than its item is passed on in pieces, which together are what it would be as a whole.
func TestJSONComesInPieces(t *testing.T) {
	t.Parallel()
	const n = 100_000
	object := world.AppendItemHead(nil, majorMap, 4)
	object = append(object, 0x61, 'a')
	object = append(object, emptyBytes(n)...)
	object = append(object, 0x61, 'u', cborUndefined, 0x61, 'b')
	object = append(object, emptyBytes(n)...)
	object = append(object, 0x82, 0x01, 0x40, 0x02) // a key that is a list
	for _, item := range []world.Raw{emptyBytes(n), object} {
		whole, err := cborToJSON(item, nil)
		require.NoError(t, err)
		require.True(t, json.Valid(whole))
		pieces, got := 0, []byte{}
		most := max(2*len(item), jsonPiece)
		last, err := cborToJSON(item, func(piece []byte) error {
			require.LessOrEqual(t, len(piece), most+64)
			pieces++
			got = append(got, piece...)
			return nil
		})
		require.NoError(t, err)
		require.LessOrEqual(t, len(last), most+64)
		require.GreaterOrEqual(t, pieces, len(whole)/most-1)
		require.True(t, bytes.Equal(whole, append(got, last...)))
	}
	// A key that is not text stands in memory whole, so a long one is its bytes.
	key := append(append(world.AppendItemHead(nil, majorMap, 1), emptyBytes(longestKey)...), 0x01)
	text, err := cborToJSON(key, nil)
	require.NoError(t, err)
	require.Less(t, len(text), 2*len(key))
	require.True(t, json.Valid(text))
}

// The caller gets all of it, and a caller that leaves ends it.
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
		request.Header.Set("Accept", typeJSON)
		resp, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, typeJSON, resp.Header.Get("Content-Type"))
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
