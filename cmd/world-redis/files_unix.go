//go:build unix

package main

import (
	"math"
	"syscall"
)

// openFiles is the process's limit of open files.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) //nolint:unconvert // signed on some systems
}
