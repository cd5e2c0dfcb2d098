package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
)

// framedValue is a chunk as the SDK writes one.
func framedValue(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// People watch a stream with curl or a browser: values are plain JSON, unreadable ones base64, the id is the index to
// continue from, and the end is an event of its own.
func TestEvents(t *testing.T) {
	t.Parallel()
	all := [][]byte{
		framedValue(`devl["two\nlines"]`), framedValue(`encr123`), {}, framedValue(`devl[{"a":1,"b":2},[3,3],["Date","2026-01-01T00:00:00.000Z"],7]`),
	}
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{TailIndex: 3}, nil }
	f.streams.read = func(_ context.Context, name string, start int64, sink world.ChunkSink) error {
		require.Equal(t, "strm_1", name)
		for i := start; i < int64(len(all)); i++ {
			if err := sink([]world.Chunk{{Index: i, Data: all[i]}}); err != nil {
				return err
			}
		}
		return nil
	}
	base := serve(t, newServer(t, f))
	events := []string{
		"id: 0\ndata: \"two\\nlines\"\n\n",
		"event: bytes\nid: 1\ndata: \"" + base64.StdEncoding.EncodeToString(all[1]) + "\"\n\n",
		"event: bytes\nid: 2\ndata: \"\"\n\n",
		`id: 3` + "\n" + `data: {"a":[7,7],"b":"2026-01-01T00:00:00.000Z"}` + "\n\n",
		"event: end\ndata: {\"chunks\":4}\n\n",
	}
	for last, from := range map[string]int{"": 0, "1": 2, "3": 4} {
		resp := openStreamAfter(t, base+"/v1/runs/wrun_1/streams/strm_1?startIndex=0", livestream.TypeEvents, last)
		require.Equal(t, http.StatusOK, resp.status)
		require.Equal(t, livestream.TypeEvents, resp.header.Get("Content-Type"))
		body, err := io.ReadAll(resp.body)
		require.NoError(t, err)
		require.Equal(t, strings.Join(events[from:], ""), string(body))
	}
	require.Equal(t, http.StatusBadRequest, openStreamAfter(t, base+"/v1/streams/strm_1", livestream.TypeEvents, "first").status)
}

// A silent stream sends comments, which are not events; one that is cut has no event "end".
func TestEventsOfASilentStream(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{TailIndex: -1}, nil }
	cut := make(chan struct{})
	f.streams.read = func(context.Context, string, int64, world.ChunkSink) error {
		<-cut
		return world.Errorf(world.CodeUnavailable, "stops")
	}
	s := newServer(t, f)
	s.keepAlive = 5 * time.Millisecond
	resp := openStream(t, serve(t, s)+"/v1/streams/s", livestream.TypeEvents)
	got := make([]byte, len(": nothing new\n\n"))
	_, err := io.ReadFull(resp.body, got)
	require.NoError(t, err)
	require.Equal(t, ": nothing new\n\n", string(got))
	close(cut)
	rest, err := io.ReadAll(resp.body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotContains(t, string(rest), "event")
}
