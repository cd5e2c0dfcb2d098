package httpapi

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

// Answers of any size are complete and have their length, one after the other on one connection.
func TestAnswersComeWhole(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: req.RunID, Type: req.Type, Data: req.Data}}, nil
	}
	base, stop, done := running(t, newServer(t, f))
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	for _, accept := range []string{input.TypeCBOR, input.TypeJSON} {
		for _, size := range []int{1, 1000, 2000, 2900, 3100, 3600, 4000, 4100, 9000, 30_000, 65_000, 65_300, 65_536, 70_000, 300_000} {
			payload := bytes.Repeat([]byte{byte(size), 1, 2}, size/3+1)
			body := raw(t, m{"event": m{"eventType": "run_completed", "eventData": m{"output": payload}}})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/runs/"+runID+"/events", bytes.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", input.TypeCBOR)
			req.Header.Set("Accept", accept)
			resp, err := transport.RoundTrip(req)
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, int64(len(got)), resp.ContentLength)
			if accept == input.TypeCBOR {
				require.Contains(t, string(got), string(payload))
				continue
			}
			item, err := wire.FromJSON(got)
			require.NoError(t, err)
			require.Contains(t, string(item), string(payload))
		}
	}
	stop()
	require.NoError(t, <-done)
}

// An answer that is not read is given up, and its memory is free again.
func TestAnAnswerThatNobodyReads(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	largeRuns(f, 16<<20)
	s := newServer(t, f)
	s.answerPatience = 200 * time.Millisecond
	base, stop, done := running(t, s)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", base[len("http://"):])
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET /v1/runs/"+runID+" HTTP/1.1\r\nHost: localhost\r\nAccept: application/cbor\r\n\r\n")
	require.NoError(t, err)
	head := make([]byte, 12)
	_, err = io.ReadFull(conn, head)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200", string(head))
	require.Eventually(t, func() bool { return s.main.memory.Used() == 0 }, time.Minute, time.Millisecond)
	got, _ := io.Copy(io.Discard, conn)
	require.Less(t, got, int64(16<<20))
	require.NoError(t, conn.Close())
	stop()
	require.NoError(t, <-done)
}
