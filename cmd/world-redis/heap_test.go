package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGarbageOfASmallHeapIsCollectedLater(t *testing.T) {
	t.Parallel()
	goal := func(env ...string) float64 { return goMetric(t, startProcess(t, env...), "go_memstats_next_gc_bytes") }
	require.Greater(t, goal(), 2.0*spareHeap)
	require.Less(t, goal("GOGC=100"), 2.0*spareHeap, "somebody has said so")
}
