package main

import (
	"math"
	"runtime/debug"

	"github.com/world-redis/world-redis/httpapi"
)

// memory is what bodies and answers may take together. The rest of what Go may use is for everything else, and for
// garbage, of which there is as much again.
func (c config) memory() int64 {
	limit := debug.SetMemoryLimit(-1) // as it is: GOMEMLIMIT
	switch {
	case c.Memory > 0:
		return c.Memory
	case limit < math.MaxInt64:
		return max(8<<20, limit/4)
	default:
		return httpapi.DefaultMemory
	}
}

// mostConnections is the default of connections, where files allow it.
const mostConnections = 10_000

// maxConnections leaves a quarter of the files to Redis and apps.
func (c config) maxConnections() int {
	if c.MaxConnections > 0 {
		return c.MaxConnections
	}
	if files := openFiles(); files < mostConnections/3*4 {
		return max(16, int(files)/4*3) //nolint:gosec // it is small
	}
	return mostConnections
}
