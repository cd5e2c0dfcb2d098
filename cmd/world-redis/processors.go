package main

import (
	"net/netip"
	"os"
	"runtime"
	"slices"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// leaveProcessors makes Go use half of the processors if Redis runs on the same machine. GOMAXPROCS and a container's
// CPU limit take precedence.
//
// Redis answers from one thread, and an event costs that thread two thirds of what it costs the service, so more
// processors are never busy for long. But Go wakes a thread for each of them whenever there is work. That takes
// longer than a short call itself, and on a shared machine those threads take processors from Redis and the app.
func leaveProcessors(conn *redisconn.Conn) {
	if os.Getenv("GOMAXPROCS") == "" && conn.Mode != redisconn.Embedded {
		runtime.GOMAXPROCS(processorsOf(runtime.NumCPU(), runtime.GOMAXPROCS(0), conn.Servers()))
	}
}

// processorsOf returns how many of all processors to use, if Go would use goes of them and Redis is at these
// addresses. No addresses means a Unix socket.
func processorsOf(all, goes int, redis []netip.AddrPort) int {
	limited := goes < all // Go respects the limit of a container
	if limited || slices.ContainsFunc(redis, func(at netip.AddrPort) bool { return !at.Addr().Unmap().IsLoopback() }) {
		return goes
	}
	return max(1, all/2)
}
