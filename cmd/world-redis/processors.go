package main

import (
	"net/netip"
	"os"
	"runtime"
	"slices"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// leaveProcessors has Go use half of the processors where Redis is another process of this machine. GOMAXPROCS and the CPU limit
// of a container take precedence.
//
// One Redis answers from one thread, and an event costs that thread two thirds of what it costs
// the service: more processors than that are never busy for long. But Go wakes a thread for
// each of them whenever there is work, which takes longer than the work of a short call does, and
// on a machine that Redis and the app share it is their processors that those threads take.
func leaveProcessors(conn *redisconn.Conn) {
	if os.Getenv("GOMAXPROCS") == "" && conn.Mode != redisconn.Embedded {
		runtime.GOMAXPROCS(processorsOf(runtime.NumCPU(), runtime.GOMAXPROCS(0), conn.Servers()))
	}
}

// processorsOf says how many of the processors of a machine to use, where Go would use so many and Redis is at these addresses;
// none: a Unix socket.
func processorsOf(all, goes int, redis []netip.AddrPort) int {
	limited := goes < all // Go obeys the limit of a container
	if limited || slices.ContainsFunc(redis, func(at netip.AddrPort) bool { return !at.Addr().Unmap().IsLoopback() }) {
		return goes
	}
	return max(1, all/2)
}
