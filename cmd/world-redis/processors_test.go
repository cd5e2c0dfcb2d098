package main

import (
	"net/netip"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

func TestProcessorsAreLeftToRedisAndTheApp(t *testing.T) {
	t.Parallel()
	here, there := netip.MustParseAddrPort("127.0.0.1:6379"), netip.MustParseAddrPort("10.0.0.1:6379")
	for all, ours := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 7: 3, 16: 8} {
		require.Equal(t, ours, processorsOf(all, all, nil), "of %d, by a Unix socket", all)
		require.Equal(t, ours, processorsOf(all, all, []netip.AddrPort{here, netip.MustParseAddrPort("[::1]:1")}), "of %d", all)
		require.Equal(t, all, processorsOf(all, all, []netip.AddrPort{here, there}), "of %d, with a Redis on another machine", all)
	}
	require.Equal(t, 4, processorsOf(16, 4, []netip.AddrPort{here}), "a container that may use four")

	all := runtime.NumCPU()
	onRedis := "WORKFLOW_REDIS_URL=redis://" + redistest.Start(t).Addr
	require.Equal(t, processorsOf(all, runtime.GOMAXPROCS(0), nil), usedProcessors(t, startProcess(t, onRedis)))
	require.Equal(t, runtime.GOMAXPROCS(0), usedProcessors(t, startProcess(t)), "with Redis in the process")
	require.Equal(t, 5, usedProcessors(t, startProcess(t, onRedis, "GOMAXPROCS=5")), "somebody has said so")
}

func usedProcessors(t *testing.T, p *process) int {
	t.Helper()
	return int(goMetric(t, p, "go_sched_gomaxprocs_threads"))
}

// goMetric returns a metric of the runtime of a process.
func goMetric(t *testing.T, p *process, name string) float64 {
	t.Helper()
	_, body := get(t, p.base+"/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(body)
	require.NotNil(t, found, body)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}
