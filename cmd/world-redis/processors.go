package main

import (
	"os"
	"runtime"
)

// leaveProcessors has Go use half of the processors, if nobody has said otherwise by GOMAXPROCS
// and Redis is a process of its own.
//
// One Redis answers from one thread, and an event costs that thread two thirds of what it costs
// the service: more processors than that are never busy for long. But Go wakes a thread for
// each of them whenever there is work, which takes longer than the work of a short call does, and
// on a machine that Redis and the app share it is their processors that those threads take.
func leaveProcessors(embedded bool) {
	if embedded || os.Getenv("GOMAXPROCS") != "" {
		return
	}
	runtime.GOMAXPROCS(processorsOf(runtime.GOMAXPROCS(0)))
}

func processorsOf(all int) int { return max(1, all/2) }
