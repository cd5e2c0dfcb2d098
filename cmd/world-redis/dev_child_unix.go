//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

var devSignalList = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// ownGroup gives a command a process group of its own, and reports whether it has one.
func ownGroup(cmd *exec.Cmd) bool {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return true
}

func isInGroup(pid, group int) bool {
	of, err := syscall.Getpgid(pid)
	return err == nil && of == group
}

// signalGroup reports whether there was a process in the group.
func signalGroup(group int, s os.Signal) bool {
	number, ok := s.(syscall.Signal)
	return ok && syscall.Kill(-group, number) == nil
}

func signalProcess(pid int, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(pid, number) // it may have ended
	}
}

// exitCodeOf is a shell's exit code: 128 and the signal's number if a signal has ended the process.
func exitCodeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
