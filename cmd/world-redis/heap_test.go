package main

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var heapGoalMetric = regexp.MustCompile(`(?m)^go_memstats_next_gc_bytes (\S+)`)

func TestGarbageOfASmallHeapIsCollectedLater(t *testing.T) {
	t.Parallel()
	require.Greater(t, heapGoal(t, startProcess(t)), 2.0*spareHeap)
	require.Less(t, heapGoal(t, startProcess(t, "GOGC=100")), 2.0*spareHeap, "somebody has said so")
}

func heapGoal(t *testing.T, p *process) float64 {
	t.Helper()
	_, body := get(t, p.base+"/metrics")
	found := heapGoalMetric.FindStringSubmatch(body)
	require.NotNil(t, found, body)
	goal, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return goal
}
