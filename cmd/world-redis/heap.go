package main

import (
	"os"
	"runtime"
)

// spareHeap is the size, in bytes, of memory that is allocated and never touched, so it takes no physical memory.
const spareHeap = 8 << 20

// collectLater makes Go collect garbage less often, unless GOGC is set. Go collects whenever the heap has doubled. A
// busy service without large payloads has a heap of 3 MB, so it would collect forty times a second and spend a tenth
// of the service's CPU on it. The spare memory counts as heap. For a much larger heap it makes no difference.
func collectLater() (giveUp func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	spare := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(spare) }
}
