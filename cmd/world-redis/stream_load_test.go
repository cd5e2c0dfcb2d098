package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// figure reads one of the service's own metrics.
func figure(t *testing.T, base, name string) float64 {
	t.Helper()
	_, text := get(t, base+"/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	require.NotNil(t, found, name)
	n, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return n
}

// clients lists the connections of Redis of a kind ("" for all) except its own.
func clients(t *testing.T, client *redis.Client, kind string) (list []string) {
	t.Helper()
	text, err := client.Do(t.Context(), "CLIENT", "LIST").Text()
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "cmd=client") && (kind == "" || strings.Contains(line, " flags="+kind)) {
			list = append(list, line)
		}
	}
	return list
}

// openRead sends the request of a live read and returns the connection after the head of the answer: a reader that
// costs the test only a socket.
func openRead(t *testing.T, base, name string, window int) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	if window > 0 {
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(window)) //nolint:forcetypeassert // dialled above
	}
	_, err = fmt.Fprintf(conn, "GET /v1/streams/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", name)
	require.NoError(t, err)
	in := bufio.NewReaderSize(conn, 1024)
	for line := ""; line != "\r\n"; {
		line, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	return conn, in
}

// BR-61: two thousand readers at one replica, whose Redis accepts no more than 500 connections, while runs are created.
// All get their chunk, over one subscription and a few connections; and when they leave, nothing of them is left.
func TestBR61ReadersShareConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxclients", "500")
	client := redistest.Client(t, server.Addr)
	service := startProcess(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr)
	runID := newRun(t, service.base, "")
	// Only the channels of streams: the service subscribes to others when it needs them.
	subscribed := func() int { return len(client.PubSubChannels(context.Background(), "*stream_notify:*").Val()) }
	// Without connections to Redis: a pool may have grown for other reasons.
	sockets := func() float64 {
		return figure(t, service.base, "process_open_fds") - float64(len(clients(t, client, "")))
	}
	first, _ := openRead(t, service.base, "first", 0) // after it what readers share is there
	require.Eventually(t, func() bool { return subscribed() == 1 }, time.Minute, 10*time.Millisecond)
	subscribers := len(clients(t, client, "P"))
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return subscribed() == 0 }, time.Minute, 10*time.Millisecond)
	others, routines := sockets(), figure(t, service.base, "go_goroutines")

	const readers, streams = 2000, 200
	type reader struct {
		conn net.Conn
		in   *bufio.Reader
	}
	var all []reader
	for i := range readers {
		conn, in := openRead(t, service.base, fmt.Sprintf("st%d", i%streams), 0)
		all = append(all, reader{conn, in})
	}
	require.Eventually(t, func() bool { return subscribed() == streams }, time.Minute, 10*time.Millisecond)
	for range 100 {
		newRun(t, service.base, "")
	}
	for i := range streams {
		require.NoError(t, putChunk(t.Context(), service.base, fmt.Sprintf("/v1/runs/%s/streams/st%d", runID, i), fmt.Sprintf("chunk of %03d", i)))
	}
	for i, r := range all {
		require.NoError(t, r.conn.SetReadDeadline(time.Now().Add(time.Minute)))
		want := fmt.Sprintf("c\r\nchunk of %03d\r\n", i%streams) // HTTP's own chunked coding around it
		got := make([]byte, len(want))
		_, err := io.ReadFull(r.in, got)
		require.NoError(t, err, "reader %d", i)
		require.Equal(t, want, string(got))
	}
	require.GreaterOrEqual(t, sockets(), float64(readers))
	require.Less(t, len(clients(t, client, "")), 60)
	require.Len(t, clients(t, client, "P"), subscribers, "not one connection more for two hundred subscriptions")

	for _, r := range all {
		require.NoError(t, r.conn.Close())
	}
	// The service has goroutines and sockets that do not belong to readers, some of which start later, and Redis lists
	// some connections that have just been closed. One per reader, or per stream, would be far more than these.
	const unrelated = streams / 4
	var stays atomic.Value
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("what stays:", stays.Load())
		}
	})
	require.Eventually(t, func() bool {
		more, goroutines, subs := sockets()-others, figure(t, service.base, "go_goroutines")-routines, subscribed()
		stays.Store(fmt.Sprintf("%v sockets, %v goroutines, %v subscriptions", more, goroutines, subs))
		return more <= unrelated && goroutines <= unrelated && subs == 0
	}, time.Minute, 50*time.Millisecond)
}

// A stream of 40 MB is written while a hundred readers each accept a kilobyte per second. Neither the service nor Redis
// buffers what they have not accepted.
func TestSlowReadersAreNotBufferedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	service := startProcess(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr)
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	for range 100 {
		conn, in := openRead(t, service.base, "st", 4096)
		reading.Go(func() {
			defer conn.Close() //nolint:errcheck // given up
			for {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return
				}
				if _, err := io.CopyN(io.Discard, in, 1024); err != nil {
					t.Errorf("a slow reader was cut: %v", err)
					return
				}
			}
		})
	}
	var heap, output float64
	chunk := string(bytes.Repeat([]byte("x"), 64<<10))
	const count = 640
	for i := range count {
		require.NoError(t, putChunk(t.Context(), service.base, "/v1/runs/wrun_1/streams/st", fmt.Sprintf("%06d", i)+chunk[6:]))
		if i%40 == 39 {
			heap = max(heap, figure(t, service.base, "go_memstats_heap_inuse_bytes"))
			waiting := 0.0
			for _, line := range clients(t, client, "") {
				fields := regexp.MustCompile(` omem=(\d+)`).FindStringSubmatch(line)
				n, err := strconv.ParseFloat(fields[1], 64)
				require.NoError(t, err)
				waiting += n
			}
			output = max(output, waiting)
		}
	}
	_, info := get(t, service.base+"/v1/streams/st/info")
	require.JSONEq(t, fmt.Sprintf(`{"tailIndex":%d,"done":false}`, count-1), info)
	stop()
	reading.Wait()
	t.Logf("heap at most %.0f MB, Redis' output buffers at most %.1f MB", heap/1e6, output/1e6)
	require.Less(t, heap, 80e6)
	require.Less(t, output, 4e6)
}
