package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/processtree"
)

const (
	// leftoverGrace is how long processes may run on that the command left behind when it ended.
	leftoverGrace = 2 * time.Second
	// insistAfter is when a further signal means that the command is to be killed. One that comes sooner is the same Ctrl-C:
	// npx and npm pass on what the terminal has sent already.
	insistAfter = time.Second
)

// devSignals are the signals that this process gets.
type devSignals struct{ ch chan os.Signal }

func catchSignals() devSignals {
	s := devSignals{make(chan os.Signal, 8)}
	signal.Notify(s.ch, devSignalList...)
	return s
}

func (s devSignals) stop() { signal.Stop(s.ch) }

// devChild is the command. At a terminal it shares the process group of this process, so that it can read from the terminal and
// gets Ctrl-C and Ctrl-Z from there. Otherwise it has a group of its own.
type devChild struct {
	cmd     *exec.Cmd
	pid     int
	created int64
	group   bool
	tree    *processtree.Tree // for signals; it must not be used by other goroutines
	ended   chan struct{}
}

// startDevChild starts the command with the streams of this process.
func startDevChild(command, environ []string) (*devChild, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("the command cannot be started: %w", err)
	}
	c := &devChild{cmd: exec.Command(path, command[1:]...), ended: make(chan struct{})} //nolint:gosec,noctx // what the user asked for; it ends in await
	c.cmd.Env = environ
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		c.group = ownGroup(c.cmd)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the command cannot be started: %w", err)
	}
	c.pid = c.cmd.Process.Pid
	c.created, _ = processtree.Created(context.Background(), c.pid)
	c.tree = newTree(c.pid, c.group)
	go func() {
		_ = c.cmd.Wait() // the state has the result
		close(c.ended)
	}()
	return c, nil
}

// newTree returns the processes of a command; of those in its group also the ones whose parent has ended.
func newTree(pid int, group bool) *processtree.Tree {
	if !group {
		return processtree.New(pid, nil)
	}
	return processtree.New(pid, func(other int) bool { return isInGroup(other, pid) })
}

// await waits until the command and all its processes have ended, and returns the exit code. It passes signals on. If the
// service or its Redis fails, it ends the command and returns why.
func (c *devChild) await(signals devSignals, service, store <-chan error, grace time.Duration) (int, error) {
	var cause error
	var first time.Time
	var kill <-chan time.Time
	end := func(s os.Signal) {
		c.pass(s)
		if first.IsZero() {
			first, kill = time.Now(), time.After(grace)
		}
	}
	for {
		select {
		case <-c.ended:
			ctx := context.Background()
			if pids, err := c.tree.PIDs(ctx); err == nil && len(pids) > 0 {
				endTree(ctx, c.tree, c.pid, c.group, leftoverGrace)
			}
			return exitCodeOf(c.cmd.ProcessState), cause
		case s := <-signals.ch:
			if !first.IsZero() && time.Since(first) < insistAfter {
				continue
			}
			if !first.IsZero() {
				killTree(c.tree, c.pid, c.group)
				continue
			}
			end(s)
		case err := <-service:
			service, cause = nil, errors.Join(cause, err)
			end(syscall.SIGTERM)
		case err := <-store:
			store, cause = nil, errors.Join(cause, err)
			end(syscall.SIGTERM)
		case <-kill:
			killTree(c.tree, c.pid, c.group)
		}
	}
}

// end ends the command without a signal of the user.
func (c *devChild) end(grace time.Duration) {
	endTree(context.Background(), c.tree, c.pid, c.group, grace)
	<-c.ended
}

// pass gives a signal to all processes of the command, unless the terminal has done so.
func (c *devChild) pass(s os.Signal) {
	if !c.group && s != syscall.SIGTERM {
		return
	}
	signalTree(c.tree, c.pid, c.group, s)
}

// endTree asks all processes of a tree to end, waits, and kills those that do not.
func endTree(ctx context.Context, tree *processtree.Tree, root int, group bool, grace time.Duration) {
	signalTree(tree, root, group, syscall.SIGTERM)
	if awaitTree(ctx, tree, grace) {
		return
	}
	killTree(tree, root, group)
	awaitTree(ctx, tree, grace)
}

func awaitTree(ctx context.Context, tree *processtree.Tree, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		pids, err := tree.PIDs(ctx)
		if err == nil && len(pids) == 0 {
			return true
		}
		if !pause.For(ctx, 50*time.Millisecond) {
			return false
		}
	}
}

func killTree(tree *processtree.Tree, root int, group bool) {
	signalTree(tree, root, group, os.Kill)
}

// signalTree sends a signal to each process of a tree. Where there are no signals, every one ends the processes.
func signalTree(tree *processtree.Tree, root int, group bool, s os.Signal) {
	if group && signalGroup(root, s) {
		return
	}
	pids, err := tree.PIDs(context.Background())
	if err != nil {
		pids = []int{root}
	}
	for _, pid := range pids {
		signalProcess(pid, s)
	}
}
