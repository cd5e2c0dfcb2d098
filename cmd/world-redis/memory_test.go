package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

const mostHeap = 512 << 20

// rawSocket is a call socket that its client does not read.
type rawSocket struct{ net.Conn }

func openRawSocket(t *testing.T, base, token string) rawSocket {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /v1/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: world-redis.calls.1\r\n\r\n", token)
	require.NoError(t, err)
	head := make([]byte, 12)
	_, err = io.ReadFull(conn, head)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 101", string(head))
	return rawSocket{conn}
}

// send sends a message of n bytes, or the beginning of one.
func (s rawSocket) send(size int, payload []byte) error {
	head := []byte{0x82, 0xff}
	head = binary.BigEndian.AppendUint64(head, uint64(size)) //nolint:gosec // not negative
	_, err := s.Write(append(append(head, 0, 0, 0, 0), payload...))
	return err
}

// heapOf returns the largest size of the service's heap so far.
func heapOf(t *testing.T, base string) int64 {
	t.Helper()
	_, text := get(t, base+"/metrics")
	found := regexp.MustCompile(`(?m)^go_memstats_heap_sys_bytes (\S+)$`).FindStringSubmatch(text)
	require.NotNil(t, found)
	n, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return int64(n)
}

// Whatever the holder of one namespace's token sends, the service stays within its memory, and callers of another
// namespace are served. A caller of the same namespace gets at worst an answer that says to try again.
func TestNoNamespaceTakesTheMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startProcess(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr, "WORKFLOW_WORLD_NAMESPACES=greedy=greedy-token,other=other-token")
	greedy, other := &tokenCaller{t, p.base, "greedy-token"}, &tokenCaller{t, p.base, "other-token"}
	large := greedy.newRun(make([]byte, 4<<20))
	small := other.newRun([]byte("in"))

	// Six messages of 3 KB ask for 64 runs of 4 MiB each, and the answers are not read.
	var calls []m
	for range 64 {
		calls = append(calls, m{"path": "/v1/runs/" + large})
	}
	bundle, err := cbor.Marshal(m{"calls": calls})
	require.NoError(t, err)
	unread := openRawSocket(t, p.base, "greedy-token")
	for i := range 6 {
		require.NoError(t, unread.send(4+len(bundle), append([]byte{0, 0, 0, byte(i)}, bundle...)))
	}
	// A map of 1,000,000 keys.
	keys := manyKeys()
	status, answer := greedy.post("/v1/events", keys)
	require.Equal(t, http.StatusBadRequest, status, string(answer))
	require.Contains(t, string(answer), "more than 10000 keys")
	// A hundred bundles of 4 MiB of which half is sent.
	var all sync.WaitGroup
	half := make([]byte, 2<<20)
	for range 100 {
		socket := openRawSocket(t, p.base, "greedy-token")
		all.Go(func() { _ = socket.send(4<<20, half) }) // it may not be read to the end
	}
	for range 32 {
		all.Go(func() {
			for range 20 {
				if status, answer := other.get("/v1/runs/" + small); status != http.StatusOK {
					t.Errorf("another namespace: %d %s", status, answer)
				}
			}
		})
	}
	for range 8 {
		all.Go(func() {
			if status, answer := greedy.get("/v1/runs/" + large); status != http.StatusOK && status != http.StatusTooManyRequests {
				t.Errorf("the same namespace: %d %.200s", status, answer)
			}
		})
	}
	all.Wait()
	heap := heapOf(t, p.base)
	t.Logf("the heap has had %d MB", heap>>20)
	require.Less(t, heap, int64(mostHeap))
}

// manyKeys is a map of 1,000,000 keys in 6 MB.
func manyKeys() []byte {
	var b bytes.Buffer
	b.Write([]byte{0xba, 0x00, 0x0f, 0x42, 0x40})
	for i := range 1_000_000 {
		b.Write([]byte{0x64, ' ' + byte(i>>18&63), ' ' + byte(i>>12&63), ' ' + byte(i>>6&63), ' ' + byte(i&63), 0xf6}) //nolint:gosec // printable
	}
	return b.Bytes()
}

// tokenCaller calls with a token and may be refused.
type tokenCaller struct {
	t     *testing.T
	base  string
	token string
}

func (c *tokenCaller) get(path string) (int, []byte) { return c.do(http.MethodGet, path, nil) }

func (c *tokenCaller) post(path string, body []byte) (int, []byte) {
	return c.do(http.MethodPost, path, body)
}

func (c *tokenCaller) do(method, path string, body []byte) (int, []byte) {
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, bytes.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/cbor")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Error(err)
	}
	return res.StatusCode, answer
}

func (c *tokenCaller) newRun(input []byte) string {
	c.t.Helper()
	body, err := cbor.Marshal(m{"event": m{"eventType": "run_created", "specVersion": 3, "eventData": m{"deploymentId": "dpl_1", "workflowName": "wf", "input": input}}})
	require.NoError(c.t, err)
	status, answer := c.post("/v1/events", body)
	require.Equal(c.t, http.StatusOK, status, string(answer))
	var got struct {
		Run struct {
			RunID string `cbor:"runId"`
		} `cbor:"run"`
	}
	require.NoError(c.t, cbor.Unmarshal(answer, &got))
	return got.Run.RunID
}
