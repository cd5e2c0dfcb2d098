package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// framedValue is a chunk as the SDK writes one.
func framedValue(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// People watch a stream with curl or a browser: values in plain JSON, what is not readable in
// base64, the index as the id to go on from, and the end as an event of its own.
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
		resp := openStreamAfter(t, base+"/v1/runs/wrun_1/streams/strm_1?startIndex=0", typeEvents, last)
		require.Equal(t, http.StatusOK, resp.status)
		require.Equal(t, typeEvents, resp.header.Get("Content-Type"))
		body, err := io.ReadAll(resp.body)
		require.NoError(t, err)
		require.Equal(t, strings.Join(events[from:], ""), string(body))
	}
	require.Equal(t, http.StatusBadRequest, openStreamAfter(t, base+"/v1/streams/strm_1", typeEvents, "first").status)
}

// A silent stream sends comments, which are no events; one that is cut has no event "end".
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
	resp := openStream(t, serve(t, s)+"/v1/streams/s", typeEvents)
	got := make([]byte, len(": nothing new\n\n"))
	_, err := io.ReadFull(resp.body, got)
	require.NoError(t, err)
	require.Equal(t, ": nothing new\n\n", string(got))
	close(cut)
	rest, err := io.ReadAll(resp.body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotContains(t, string(rest), "event")
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`devl["x"]`:                            `"x"`,
		`devl[["Set",1,2],"a","b"]`:            `["a","b"]`,
		`devl[["Error",1],{"message":2},"no"]`: `{"$Error":{"message":"no"}}`,
		`devl[[-1,-2,1],5]`:                    `[null,null,5]`,
		`devl[{}]`:                             `{}`,
		`devl[[]]`:                             `[]`,
	} {
		require.Equal(t, want, string(readable(framedValue(text), noMore(t))))
	}
	bomb := "[[1,1]"
	for i := 2; i < 60; i++ {
		bomb += `,[` + strings.TrimSuffix(strings.Repeat(strconv.Itoa(i)+",", 2), ",") + `]`
	}
	for _, chunk := range [][]byte{
		nil, []byte("plain text"), framedValue("encr"), framedValue(`devl{`), framedValue(`devl[]`), framedValue(`devl[[9]]`),
		framedValue(`devl[[0]]`), framedValue(`devl[["Map",1]]`), framedValue(`devl[{"a":"b"}]`), framedValue(`devl` + bomb + `,1]`),
		framedValue(`devl["x"]`)[1:], append(framedValue(`devl["x"]`), 'x'), framedValue(`devl[["x",{}]]`), framedValue(`devl[1e99]`)[:6],
	} {
		require.Nil(t, readable(chunk, func(int) bool { return true }), string(chunk))
	}
}

// A small chunk that stands for a large value is not written out: its bytes are shown instead.
func TestReadableHasABudget(t *testing.T) {
	t.Parallel()
	const refs, size = 9_999, 100_000
	text := `[[1` + strings.Repeat(`,1`, refs-1) + `],"` + strings.Repeat("x", size) + `"]`
	chunk := framedValue("devl" + text)
	asked := 0
	require.Nil(t, readable(chunk, func(n int) bool { asked += n; return true }))
	require.LessOrEqual(t, asked, readableBytes+readableStep)
	// One that is repeated a few times asks for what it takes, and is not shown where there is no room for that.
	text = `[[1` + strings.Repeat(`,1`, 4) + `],"` + strings.Repeat("x", size) + `"]`
	chunk, asked = framedValue("devl"+text), 0
	require.Len(t, readable(chunk, func(n int) bool { asked += n; return true }), 5*(size+len(`"",`))+len(`]`))
	require.InDelta(t, 4*size, asked, readableStep)
	require.Nil(t, readable(chunk, func(int) bool { return false }))
	// A large value that is not repeated is written out, up to where nobody reads it.
	require.Len(t, readable(framedValue(`devl["`+strings.Repeat("x", 500<<10)+`"]`), noMore(t)), 500<<10+len(`""`))
	require.Nil(t, readable(framedValue(`devl["`+strings.Repeat("x", readableChunk)+`"]`), noMore(t)))
	// Entries take more memory than their bytes.
	require.Nil(t, readable(framedValue(`devl["x"`+strings.Repeat(",1", readableEntries+1)+`]`), noMore(t)))
	require.Len(t, readable(framedValue(`devl["`+strings.Repeat(`,\\\"`, readableEntries)+`"]`), noMore(t)), 5*readableEntries+len(`""`))
}

// noMore is for values that are no larger than their chunks.
func noMore(t *testing.T) func(int) bool {
	return func(int) bool {
		t.Error("it asks for more memory")
		return false
	}
}
