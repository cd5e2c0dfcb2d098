package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// beService makes this test binary run the service's own main, so that a test has a process to kill.
const beService = "TEST_BE_WORLD_REDIS"

func TestMain(m *testing.M) {
	if setting := os.Getenv(beApp); setting != "" {
		runTestApp(setting)
		return
	}
	if os.Getenv(beService) != "" {
		main()
		return
	}
	// Tests of outages wait for minutes, so three run in parallel on two processors. An explicit -parallel takes
	// precedence: it is read later.
	if err := flag.Set("test.parallel", "3"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	redistest.Main(m, goleak.Find)
}

// process is the service as a separate process.
type process struct {
	base string // its address
	cmd  *exec.Cmd
	out  *worldtest.Log // what it prints and logs
}

// startProcess starts `world-redis serve` and waits until it listens.
func startProcess(t *testing.T, environ ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	out := &worldtest.Log{}
	p := &process{out: out, cmd: exec.Command(self, "serve")} //nolint:gosec // the test binary itself
	p.cmd.Env = append(os.Environ(), append([]string{beService + "=1", "WORKFLOW_WORLD_LISTEN=127.0.0.1:0"}, environ...)...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	pattern := regexp.MustCompile(`listens on (http://\S+),`)
	require.Eventually(t, func() bool { return out.Find(pattern) != nil }, time.Minute, 5*time.Millisecond)
	p.base = out.Find(pattern)[1]
	return p
}

// kill is kill -9; a second call does nothing.
func (p *process) kill() {
	if err := p.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		_ = p.cmd.Wait() // "signal: killed" is what was asked for
	}
}
