package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/quietconn"
	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

var transportRounds = flag.Int("transports.rounds", 1, "rounds of BenchmarkTransports")

// transports are the transports that BenchmarkTransports compares; the others are divided by the first one.
var transports = []struct {
	name, fastPaths string
	h2c             bool
}{
	{"socket", "all", false},
	{"http, bundles", "pipeline,bundles,quiet", false},
	{"http", "pipeline,quiet", false},
	{"h2c, bundles", "pipeline,bundles,quiet", true},
	{"h2c", "pipeline,quiet", true},
}

// transportFigures are the results of one measurement, in ms, calls per second, and µs of CPU per call.
type transportFigures struct {
	P50           float64 `json:"p50"`
	P95           float64 `json:"p95"`
	PerSecond     float64 `json:"perSecond"`
	ClientMicros  float64 `json:"clientMicros"`
	ServiceMicros float64
}

// The calls of the client over its own transports and over HTTP/2 without TLS, which the service does not offer: the
// server here is the API with a listener of its own. docs/decisions/calls-over-a-websocket.md has the figures of
//
//	go test ./cmd/world-redis -run '^$' -bench Transports -benchtime 1x -transports.rounds 5
//
// It needs `make client` and Node 22 of bench/apps/v5. The transports take turns within a round, so that other load
// hits all of them alike.
func BenchmarkTransports(b *testing.B) {
	url := serveTransports(b)
	for _, operation := range []string{"read", "create"} {
		for _, load := range []struct{ callers, calls int }{{1, 2_000}, {8, 6_000}, {64, 12_000}} {
			b.Run(fmt.Sprintf("%s/%d", operation, load.callers), func(b *testing.B) {
				figures := make([][]transportFigures, len(transports))
				for round := range *transportRounds {
					for i := range transports {
						i = (i + round) % len(transports)
						settings := map[string]any{"operation": operation, "callers": load.callers, "calls": load.calls, "h2c": transports[i].h2c}
						figures[i] = append(figures[i], callOver(b, url, transports[i].fastPaths, settings))
					}
				}
				b.Log("\n" + transportTable(figures))
			})
		}
	}
}

// serveTransports serves the API of a whole service for HTTP/1.1 and h2c, with the processors and the heap of one
// service.
func serveTransports(b *testing.B) (url string) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	conn, err := redisconn.Connect("redis://"+redistest.Start(b).Addr, redisconn.Quiet(true))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, conn.Close()) })
	c, _, err := loadConfig(nil)
	require.NoError(b, err)
	policy, err := c.dialPolicy()
	require.NoError(b, err)
	logger := slog.New(slog.DiscardHandler)
	tenants, err := newTenants(ctx, conn, policy, c, world.SystemClock{}, logger)
	require.NoError(b, err)
	api, err := httpapi.New(httpapi.Config{Listen: "127.0.0.1:0", Observe: newMetrics(tenants, logger).observe}, tenants[0].deps())
	require.NoError(b, err)

	before := runtime.GOMAXPROCS(0)
	leaveProcessors(conn)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
	b.Cleanup(collectLater())

	ended := make(chan error, 3)
	go func() { ended <- together(tenants, (*tenant).background)(ctx) }()
	go func() { ended <- api.Run(ctx) }() // for what it closes at its end
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: api.Handler(), Protocols: &protocols, ReadHeaderTimeout: time.Minute}
	go func() { ended <- server.Serve(quietListener{listener}) }()
	b.Cleanup(func() {
		require.NoError(b, server.Close())
		cancel()
		for range 3 {
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, context.Canceled) {
				require.NoError(b, err)
			}
		}
	})
	return "http://" + listener.Addr().String()
}

// quietListener wraps connections as the service does.
type quietListener struct{ net.Listener }

func (l quietListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return quietconn.Wrap(c), nil
}

// callOver makes a client process make the calls, and measures the CPU time of this process, the service, meanwhile.
func callOver(b *testing.B, url, fastPaths string, settings map[string]any) (got transportFigures) {
	b.Helper()
	encoded, err := json.Marshal(settings)
	require.NoError(b, err)
	caller := exec.CommandContext(b.Context(), "../../bench/apps/v5/node_modules/node/bin/node", "../../bench/workers/transports.mjs", string(encoded)) //nolint:gosec // a worker of ours
	caller.Env = append(os.Environ(), "WORKFLOW_WORLD_URL="+url, "WORKFLOW_WORLD_FAST_PATHS="+fastPaths)
	caller.Stderr = os.Stderr
	in, err := caller.StdinPipe()
	require.NoError(b, err)
	out, err := caller.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, caller.Start())
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	require.NoError(b, err)
	runtime.GC()
	before := ownCPU(b)
	_, err = io.WriteString(in, "go\n")
	require.NoError(b, err)
	line, err := lines.ReadBytes('\n')
	require.NoError(b, err)
	used := ownCPU(b) - before
	require.NoError(b, json.Unmarshal(line, &got))
	require.NoError(b, caller.Wait())
	got.ServiceMicros = float64(used.Microseconds()) / float64(settings["calls"].(int))
	return got
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// transportTable has a line for each transport: the median of each figure, and the median and the range of its ratio to
// the first transport's in the same round.
func transportTable(figures [][]transportFigures) string {
	columns := []struct {
		title string
		of    func(transportFigures) float64
	}{
		{"p50 ms", func(f transportFigures) float64 { return f.P50 }},
		{"p95 ms", func(f transportFigures) float64 { return f.P95 }},
		{"calls/s", func(f transportFigures) float64 { return f.PerSecond }},
		{"client µs", func(f transportFigures) float64 { return f.ClientMicros }},
		{"service µs", func(f transportFigures) float64 { return f.ServiceMicros }},
	}
	var table strings.Builder
	for i, transport := range transports {
		fmt.Fprintf(&table, "%-14s", transport.name)
		for _, column := range columns {
			var values, ratios []float64
			for round, f := range figures[i] {
				values = append(values, column.of(f))
				ratios = append(ratios, column.of(f)/column.of(figures[0][round]))
			}
			fmt.Fprintf(&table, " | %s %.4g (×%.2f, %.2f–%.2f)", column.title, middle(values), middle(ratios), slices.Min(ratios), slices.Max(ratios))
		}
		table.WriteByte('\n')
	}
	return table.String()
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
