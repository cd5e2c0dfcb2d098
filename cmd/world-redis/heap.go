package main

import (
	"os"
	"runtime"
)

// spareHeap is so much memory, in bytes, that is asked for and never touched, so no memory of the machine's.
const spareHeap = 8 << 20

// collectLater has Go collect garbage less often, if nobody has said otherwise by GOGC. It collects whenever the heap
// has doubled, and that of a busy service without large payloads is 3 MB, so it would do so forty times a second, at
// a tenth of the service's CPU. The spare memory counts as heap; where there is much more, it makes no difference.
func collectLater() (giveUp func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	spare := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(spare) }
}
