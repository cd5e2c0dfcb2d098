package main

import (
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

func TestProcessorsAreLeftToRedisAndTheApp(t *testing.T) {
	t.Parallel()
	for all, ours := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 7: 3, 16: 8} {
		require.Equal(t, ours, processorsOf(all), "of %d", all)
	}
	all := runtime.GOMAXPROCS(0)
	onRedis := "WORKFLOW_REDIS_URL=redis://" + redistest.Start(t).Addr
	require.Equal(t, processorsOf(all), usedProcessors(t, startProcess(t, onRedis)))
	require.Equal(t, all, usedProcessors(t, startProcess(t)), "with Redis in the process")
	require.Equal(t, 5, usedProcessors(t, startProcess(t, onRedis, "GOMAXPROCS=5")), "somebody has said so")
}

func usedProcessors(t *testing.T, p *process) int {
	t.Helper()
	return int(goMetric(t, p, "go_sched_gomaxprocs_threads"))
}

// goMetric returns what a process says of its own runtime.
func goMetric(t *testing.T, p *process, name string) float64 {
	t.Helper()
	_, body := get(t, p.base+"/metrics")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(body)
	require.NotNil(t, found, body)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}
