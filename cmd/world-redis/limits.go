package main

import (
	"math"
	"runtime/debug"

	"github.com/world-redis/world-redis/httpapi"
)

// memory is the limit, in bytes, of request bodies and answers together. The rest of Go's memory limit is for
// everything else, and for garbage, which takes as much again.
func (c config) memory() int64 {
	limit := debug.SetMemoryLimit(-1) // the current limit: GOMEMLIMIT
	switch {
	case c.Memory > 0:
		return c.Memory
	case limit < math.MaxInt64:
		return max(8<<20, limit/4)
	default:
		return httpapi.DefaultMemory
	}
}

// mostConnections is the default limit of connections if the limit of files allows it.
const mostConnections = 10_000

// maxConnections leaves a quarter of the files for Redis and apps.
func (c config) maxConnections() int {
	if c.MaxConnections > 0 {
		return c.MaxConnections
	}
	if files := openFiles(); files < mostConnections/3*4 {
		return max(16, int(files)/4*3) //nolint:gosec // it is small
	}
	return mostConnections
}
