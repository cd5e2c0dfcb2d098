package httpapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
	"github.com/world-redis/world-redis/httpapi/internal/operations"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// frames encodes chunks as a client does.
func frames(chunks ...string) []byte {
	var out []byte
	for _, c := range chunks {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(c))), c...)
	}
	return out
}

func TestAppend(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got world.Append
	f.streams.append = func(a world.Append) (int64, error) { got = a; return 41, nil }
	s := newServer(t, f)
	send := func(target, contentType string, body []byte, header map[string]string) string {
		h := map[string]string{"Content-Type": contentType}
		for k, v := range header {
			h[k] = v
		}
		w := call{method: http.MethodPost, target: target, body: body, header: h}.do(t, s)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return w.Body.String()
	}

	require.Equal(t, `{"index":41}`, send("/v1/runs/r/streams/strm_1_user", livestream.TypeChunk, []byte("\x00data"), map[string]string{transport.HeaderIdempotencyKey: "k"}))
	require.Equal(t, world.Append{Name: "strm_1_user", RunID: "r", Chunks: [][]byte{[]byte("\x00data")}, RequestID: "k"}, got)

	// One empty body is one empty chunk.
	send("/v1/runs/r/streams/s", livestream.TypeChunk, nil, nil)
	require.Len(t, got.Chunks, 1)
	require.Empty(t, got.Chunks[0])

	// The announcement begins before the body arrives and ends with the call.
	require.Equal(t, []string{"strm_1_user", "s"}, f.streams.expected)
	require.Equal(t, 2, f.streams.arrived)

	send("/v1/runs/r/streams/s", livestream.TypeChunk, nil, map[string]string{operations.HeaderStep: "step_1", operations.HeaderAttempt: "2"})
	require.Equal(t, []world.StreamStep{{ID: "step_1", Attempt: 2}}, got.Steps)
	send("/v1/runs/r/streams/s", livestream.TypeChunk, nil, map[string]string{operations.HeaderSteps: "step_1 2, step_2 7"})
	require.Equal(t, []world.StreamStep{{ID: "step_1", Attempt: 2}, {ID: "step_2", Attempt: 7}}, got.Steps)

	send("/v1/runs/r/streams/a%2Fb%20%F0%9F%98%80%2525", livestream.TypeFrames, frames("one", "", "three"), map[string]string{operations.HeaderWriter: "w-1", operations.HeaderSequence: "7"})
	require.Equal(t, world.Append{
		Name: "a/b 😀%25", RunID: "r", Chunks: [][]byte{[]byte("one"), {}, []byte("three")}, RequestID: "req_made_up", WriterID: "w-1", Sequence: 7,
	}, got)
}

func TestBadAppends(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	cases := []struct {
		contentType string
		body        []byte
		header      map[string]string
		want        string
	}{
		{livestream.TypeFrames, nil, nil, "the body has no frames"},
		{livestream.TypeFrames, []byte{0, 0, 0}, nil, "frame 0 ends within its length"},
		{livestream.TypeFrames, append(frames("a"), 0, 0, 0, 9, 'x'), nil, "frame 1 says 9 bytes, 1 follow"},
		{livestream.TypeFrames, []byte{0xff, 0xff, 0xff, 0xff}, nil, "frame 0 says 4294967295 bytes, 0 follow"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderWriter: "w"}, "X-Stream-Writer and X-Stream-Sequence go together"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderSequence: "1"}, "X-Stream-Writer and X-Stream-Sequence go together"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderWriter: "w", operations.HeaderSequence: "-1"}, "X-Stream-Sequence must be a whole number"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderStep: "step_1"}, "X-Stream-Step and X-Stream-Attempt go together"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderAttempt: "1"}, "X-Stream-Step and X-Stream-Attempt go together"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderStep: "step_1", operations.HeaderAttempt: "0"}, "X-Stream-Attempt must be a whole number, 1 or more"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderStep: "step_1", operations.HeaderAttempt: "one"}, "X-Stream-Attempt must be a whole number, 1 or more"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderStep: "step 1", operations.HeaderAttempt: "1"}, "X-Stream-Step must be an id"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderStep: "step_1", operations.HeaderAttempt: "1", operations.HeaderSteps: "step_1 1"}, "X-Stream-Step and X-Stream-Steps do not go together"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderSteps: "step_1"}, "X-Stream-Steps must be at most 16 pairs"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderSteps: "step_1 1,"}, "X-Stream-Steps must be at most 16 pairs"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderSteps: strings.Repeat("step_1 1, ", 16) + "step_1 1"}, "X-Stream-Steps must be at most 16 pairs"},
		{livestream.TypeChunk, nil, map[string]string{operations.HeaderWriter: "w w", operations.HeaderSequence: "1"}, "X-Stream-Writer must be an id"},
	}
	for _, c := range cases {
		h := map[string]string{"Content-Type": c.contentType}
		for k, v := range c.header {
			h[k] = v
		}
		w := call{method: http.MethodPost, target: "/v1/runs/r/streams/s", body: bytes.NewReader(c.body), header: h}.do(t, s)
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, errorOf(t, w.Body.String())["message"], c.want)
	}
	w := call{method: http.MethodPost, target: "/v1/runs/r/streams/s/close", body: "{}", header: map[string]string{operations.HeaderStep: "step_1"}}.do(t, s)
	require.Equal(t, http.StatusBadRequest, w.Code)
	w = call{method: http.MethodPost, target: "/v1/runs/r/streams/s", body: "{}"}.do(t, s)
	require.Equal(t, http.StatusUnsupportedMediaType, w.Code)
}

func TestStreamState(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.close = func(c world.StreamClose) error {
		require.Equal(t, world.StreamClose{Name: "a/b", RunID: "r", RequestID: "req_made_up"}, c)
		return nil
	}
	f.streams.info = func(name string, _ int64) (world.StreamInfo, error) {
		require.Equal(t, "..", name) // stream names are free text
		return world.StreamInfo{TailIndex: -1}, nil
	}
	f.streams.list = func(runID string, p world.PageRequest) (world.Page[string], error) {
		more := runID == "many"
		return world.Page[string]{Data: []string{"a/b", "😀"}, HasMore: more, Cursor: map[bool]string{true: fmt.Sprint(p.Limit, p.Cursor)}[more]}, nil
	}
	f.streams.listChunks = func(_ string, p world.PageRequest) (world.ChunkPage, error) {
		require.Equal(t, world.PageRequest{Limit: 2, Cursor: "5"}, p)
		return world.ChunkPage{Page: world.Page[world.Chunk]{
			Data: []world.Chunk{{Index: 5, Data: []byte{255}}, {Index: 6}}, Cursor: "7", HasMore: true,
		}, Done: true}, nil
	}
	s := newServer(t, f)
	_, body := post(t, s, "/v1/runs/r/streams/a%2Fb/close", nil)
	require.Equal(t, `{}`, body)
	_, body = get(t, s, "/v1/streams/%2e%2e/info")
	require.Equal(t, `{"tailIndex":-1,"done":false}`, body)
	_, body = get(t, s, "/v1/runs/r/streams")
	require.Equal(t, `{"data":["a/b","😀"]}`, body)
	_, body = get(t, s, "/v1/runs/r/streams?limit=2")
	require.Equal(t, `{"data":["a/b","😀"],"cursor":null,"hasMore":false}`, body)
	_, body = get(t, s, "/v1/runs/many/streams?limit=2&cursor=x")
	require.Equal(t, `{"data":["a/b","😀"],"cursor":"2x","hasMore":true}`, body)
	// A caller that does not know pages must not take one for the whole.
	status, body := get(t, s, "/v1/runs/many/streams")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Equal(t, "too_large", errorOf(t, body)["code"])
	_, body = get(t, s, "/v1/streams/s/chunks?limit=2&cursor=5")
	require.Equal(t, `{"data":[{"index":5,"data":{"__type":"Uint8Array","data":"/w=="}},{"index":6,"data":{"__type":"Uint8Array","data":""}}],`+
		`"cursor":"7","hasMore":true,"done":true}`, body)
}

// A step names itself when it closes a stream, and readers learn where something was written after an end.
func TestStreamsThatGoOnBehindAnEnd(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.close = func(c world.StreamClose) error {
		require.Equal(t, world.StreamClose{Name: "s", RunID: "r", RequestID: "k", Steps: []world.StreamStep{{ID: "step_1", Attempt: 3}}}, c)
		return nil
	}
	f.streams.info = func(_ string, from int64) (world.StreamInfo, error) {
		if from > 3 {
			return world.StreamInfo{TailIndex: 4, Done: true, Count: 5}, nil
		}
		return world.StreamInfo{TailIndex: 2, Done: true, Next: 4, Count: 5}, nil
	}
	f.streams.listChunks = func(string, world.PageRequest) (world.ChunkPage, error) {
		return world.ChunkPage{Done: true, Next: 4}, nil
	}
	var starts []int64
	f.streams.read = func(_ context.Context, _ string, start int64, sink world.ChunkSink) error {
		starts = append(starts, start)
		return sink([]world.Chunk{{Index: start, Data: []byte("x")}})
	}
	s := newServer(t, f)
	w := call{
		method: http.MethodPost, target: "/v1/runs/r/streams/s/close",
		header: map[string]string{operations.HeaderStep: "step_1", operations.HeaderAttempt: "3", transport.HeaderIdempotencyKey: "k"},
	}.do(t, s)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	_, body := get(t, s, "/v1/streams/s/info")
	require.Equal(t, `{"tailIndex":2,"done":true,"next":4}`, body)
	_, body = get(t, s, "/v1/streams/s/chunks")
	require.Equal(t, `{"data":[],"cursor":null,"hasMore":false,"done":true,"next":4}`, body)
	base := serve(t, s)
	for from, end := range map[string]string{"2": `{"chunks":3,"next":4}`, "-1": `{"chunks":5}`} {
		events, err := io.ReadAll(openStream(t, base+"/v1/streams/s?startIndex="+from, livestream.TypeEvents).body)
		require.NoError(t, err)
		require.Contains(t, string(events), "event: end\ndata: "+end+"\n\n")
	}
	require.ElementsMatch(t, []int64{2, 4}, starts)
}

// serve runs the server behind a real connection, which streams need.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// reading is an answer whose body is closed when the test ends.
type reading struct {
	status int
	header http.Header
	body   io.Reader
}

func openStream(t *testing.T, address, accept string) reading {
	t.Helper()
	return openStreamAfter(t, address, accept, "")
}

// openStreamAfter opens it as a reader that already has the event with this id.
func openStreamAfter(t *testing.T, address, accept, lastEventID string) reading {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", accept)
	if lastEventID != "" {
		req.Header.Set(operations.HeaderLastEventID, lastEventID)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, resp.Body.Close()) })
	return reading{resp.StatusCode, resp.Header, resp.Body}
}

func TestLiveRead(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{TailIndex: 9, Count: 10}, nil }
	f.streams.read = func(_ context.Context, name string, start int64, sink world.ChunkSink) error {
		require.Equal(t, "a/b", name)
		if err := sink([]world.Chunk{{Index: start, Data: []byte("one")}, {Index: start + 1}}); err != nil {
			return err
		}
		return sink([]world.Chunk{{Index: start + 2, Data: []byte("three")}})
	}
	base := serve(t, newServer(t, f))
	for _, c := range []struct{ target, start string }{
		{"/v1/streams/a%2Fb", "0"},
		{"/v1/streams/a%2Fb?startIndex=4", "4"},
		{"/v1/streams/a%2Fb?startIndex=-3", "7"},
		{"/v1/runs/r/streams/a%2Fb?startIndex=-10", "0"},
		{"/v1/runs/r/streams/a%2Fb?startIndex=-9007199254740991", "0"},
	} {
		resp := openStream(t, base+c.target, livestream.TypeFrames)
		require.Equal(t, livestream.TypeFrames, resp.header.Get("Content-Type"))
		require.Equal(t, c.start, resp.header.Get(livestream.HeaderStart))
		require.Equal(t, "no-store, no-transform", resp.header.Get("Cache-Control"))
		require.Equal(t, "no", resp.header.Get("X-Accel-Buffering"))
		body, err := io.ReadAll(resp.body)
		require.NoError(t, err)
		require.Equal(t, append(frames("one", "", "three"), 0xff, 0xff, 0xff, 0xff), body)

		resp = openStream(t, base+c.target, "*/*")
		require.Equal(t, livestream.TypeChunk, resp.header.Get("Content-Type"))
		require.Equal(t, c.start, resp.header.Get(livestream.HeaderStart))
		body, err = io.ReadAll(resp.body)
		require.NoError(t, err)
		require.Equal(t, "onethree", string(body))
	}
}

// A chunk far above the size of a piece arrives whole.
func TestLiveReadOfALargeChunk(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{}, nil }
	f.streams.read = func(_ context.Context, _ string, _ int64, sink world.ChunkSink) error {
		return sink([]world.Chunk{{Data: large}})
	}
	resp := openStream(t, serve(t, newServer(t, f))+"/v1/streams/s", "")
	body, err := io.ReadAll(resp.body)
	require.NoError(t, err)
	require.True(t, bytes.Equal(large, body))
}

// The headers are sent before the first chunk, and each chunk before the next one.
func TestLiveReadDoesNotWait(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{TailIndex: -1}, nil }
	next := make(chan string)
	f.streams.read = func(_ context.Context, _ string, _ int64, sink world.ChunkSink) error {
		for data := range next {
			if err := sink([]world.Chunk{{Data: []byte(data)}}); err != nil {
				return err
			}
		}
		return nil
	}
	resp := openStream(t, serve(t, newServer(t, f))+"/v1/streams/s", livestream.TypeFrames) // returns once headers are in
	for _, data := range []string{"a", "bb"} {
		next <- data
		got := make([]byte, 4+len(data))
		_, err := io.ReadFull(resp.body, got)
		require.NoError(t, err)
		require.Equal(t, frames(data), got)
	}
	close(next)
	rest, err := io.ReadAll(resp.body)
	require.NoError(t, err)
	require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff}, rest)
}

// A silent framed stream sends keep-alives; a raw one must not contain a byte that is not part of a chunk.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{TailIndex: -1}, nil }
	end := make(chan struct{})
	f.streams.read = func(context.Context, string, int64, world.ChunkSink) error { <-end; return nil }
	s := newServer(t, f)
	s.keepAlive = 5 * time.Millisecond
	base := serve(t, s)
	raw := openStream(t, base+"/v1/streams/s", "")
	framed := openStream(t, base+"/v1/streams/s", livestream.TypeFrames)
	got := make([]byte, 12)
	_, err := io.ReadFull(framed.body, got)
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{0xff, 0xff, 0xff, 0xfe}, 3), got)
	close(end)
	rest, err := io.ReadAll(framed.body)
	require.NoError(t, err)
	require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff}, rest[len(rest)-4:])
	body, err := io.ReadAll(raw.body)
	require.NoError(t, err)
	require.Empty(t, body)
}

// If a read breaks, the reader must not take it for the end: there is no end frame, and the body itself is incomplete,
// for readers of raw bytes.
func TestBrokenReadIsCut(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{livestream.TypeFrames, ""} {
		f := newFakes(t)
		f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{}, nil }
		f.streams.read = func(_ context.Context, _ string, _ int64, sink world.ChunkSink) error {
			if err := sink([]world.Chunk{{Data: []byte("one")}}); err != nil {
				return err
			}
			return errors.New("Redis went away")
		}
		resp := openStream(t, serve(t, newServer(t, f))+"/v1/streams/s", accept)
		body, err := io.ReadAll(resp.body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		want := []byte("one")
		if accept == livestream.TypeFrames {
			want = frames("one")
		}
		require.Equal(t, want, body)
	}
}

// If Redis is away before the first byte, there is an error as for any call.
func TestLiveReadWithoutRedis(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) {
		return world.StreamInfo{}, world.Errorf(world.CodeUnavailable, "Redis is away")
	}
	status, body := get(t, newServer(t, f), "/v1/streams/s")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "Redis is away", errorOf(t, body)["message"])
}

// If a store takes the cut at a drain for the end, the reader must not.
func TestDrainIsNoEnd(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{}, nil }
	f.streams.read = func(ctx context.Context, _ string, _ int64, _ world.ChunkSink) error {
		<-ctx.Done()
		return nil
	}
	s := newServer(t, f)
	resp := openStream(t, serve(t, s)+"/v1/streams/s", livestream.TypeFrames)
	s.Drain()
	body, err := io.ReadAll(resp.body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Empty(t, body)
}

// Names are decoded exactly once, also where the path has no other escape.
func TestNamesAreDecodedOnce(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"100%25": "100%", "100%2525": "100%25", "a%252Fb": "a%2Fb", "a+b": "a+b", "%2F": "/", "a%20b": "a b", "%7B%7D": "{}"} {
		f := newFakes(t)
		f.streams.info = func(name string, _ int64) (world.StreamInfo, error) {
			require.Equal(t, want, name)
			return world.StreamInfo{}, nil
		}
		status, _ := get(t, newServer(t, f), "/v1/streams/"+path+"/info")
		require.Equal(t, http.StatusOK, status)
	}
}

// A reader that hangs up ends its read immediately, so that its subscription is released.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{}, nil }
	ended := make(chan error, 1)
	f.streams.read = func(ctx context.Context, _ string, _ int64, _ world.ChunkSink) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	base := serve(t, newServer(t, f))
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/streams/s", nil)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	hangUp()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, resp.Body.Close())
}
