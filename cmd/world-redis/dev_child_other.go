//go:build !unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

var devSignalList = []os.Signal{os.Interrupt, syscall.SIGTERM}

// ownGroup has no effect: without a group of its own, a process gets Ctrl-C from the console.
func ownGroup(*exec.Cmd) bool { return false }

func isInGroup(int, int) bool { return false }

func signalGroup(int, os.Signal) bool { return false }

// signalProcess ends a process: Windows has no signals.
func signalProcess(pid int, _ os.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended
	}
}

func exitCodeOf(state *os.ProcessState) int { return state.ExitCode() }
