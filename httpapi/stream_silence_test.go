package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
)

// pipes is a listener for connections without a network, so that their time can be faked.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, open := <-p; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A stream is silent for an hour. This ends no read, in any of its forms: the raw one gets no byte, the others what
// keeps proxies from closing the connection; and then the next chunk comes, and the end.
func TestSilenceDoesNotEndARead(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]struct{ begin, beat, rest string }{
		"":                    {begin: "a", rest: "b"},
		livestream.TypeFrames: {begin: string(frames("a")), beat: "\xff\xff\xff\xfe", rest: string(frames("b")) + "\xff\xff\xff\xff"},
		livestream.TypeEvents: {
			begin: "event: bytes\nid: 0\ndata: \"YQ==\"\n\n", beat: ": nothing new\n\n",
			rest: "event: bytes\nid: 1\ndata: \"Yg==\"\n\nevent: end\ndata: {\"chunks\":2}\n\n",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakes(t)
			f.streams.info = func(string, int64) (world.StreamInfo, error) { return world.StreamInfo{}, nil }
			f.streams.read = func(_ context.Context, _ string, _ int64, sink world.ChunkSink) error {
				if err := sink([]world.Chunk{{Index: 0, Data: []byte("a")}}); err != nil {
					return err
				}
				<-time.After(time.Hour) // made up
				return sink([]world.Chunk{{Index: 1, Data: []byte("b")}})
			}
			listener := make(pipes)
			server := newServer(t, f).serverOf(t.Context())
			served := make(chan error, 1)
			go func() { served <- server.Serve(listener) }()
			ours, theirs := net.Pipe()
			listener <- theirs
			defer func() {
				require.NoError(t, ours.Close())
				require.NoError(t, server.Close())
				require.ErrorIs(t, <-served, http.ErrServerClosed)
			}()

			began := time.Now()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/streams/s", nil)
			require.NoError(t, err)
			request.Header.Set("Accept", accept)
			go func() { _ = request.Write(ours) }()
			answer, err := http.ReadResponse(bufio.NewReader(ours), request)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.GreaterOrEqual(t, time.Since(began), time.Hour)

			rest, begun := bytes.CutPrefix(body, []byte(want.begin))
			require.True(t, begun, "%.60q", body)
			silence, ended := bytes.CutSuffix(rest, []byte(want.rest))
			require.True(t, ended, "%q", body[max(0, len(body)-60):])
			if want.beat == "" {
				require.Empty(t, silence)
			} else {
				require.GreaterOrEqual(t, len(silence)/len(want.beat), 100)
				require.Empty(t, bytes.ReplaceAll(silence, []byte(want.beat), nil))
			}
		})
	}
}
