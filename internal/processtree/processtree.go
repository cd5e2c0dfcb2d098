// Package processtree lists the processes below a process, and the TCP ports on which they listen.
package processtree

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// maxKnown limits the processes of a tree; further ones are left out.
const maxKnown = 4096

// createdWithin is how much two readings of a process's creation time may differ, in milliseconds: they are relative to the
// time of the machine's start, which systems compute from a clock that is adjusted.
const createdWithin = 3000

// Listener is a TCP port on which a process of a tree listens. An unspecified address means all addresses of the machine.
type Listener struct {
	PID  int
	Addr netip.AddrPort
}

// Tree is a process and its descendants. A process that was once found below the root stays part of the tree when its
// parent ends, as do its children. A Tree must not be used by several goroutines at once.
type Tree struct {
	root   int32
	member func(pid int) bool
	known  map[int32]int64 // creation time of each process, in milliseconds, which tells a later process with the same id apart
}

// New returns the tree below a process, which may have ended. member reports whether a process belongs to the tree for
// another reason, such as its process group; nil means that none does.
func New(root int, member func(pid int) bool) *Tree {
	t := &Tree{root: int32(root), member: member, known: map[int32]int64{}}
	if created, ok := createdAt(context.Background(), t.root); ok {
		t.known[t.root] = created
	}
	return t
}

// PIDs returns the ids of the processes that are alive, in ascending order, with the root if it is.
func (t *Tree) PIDs(ctx context.Context) ([]int, error) {
	all, err := process.PidsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	children := map[int32][]int32{}
	alive := make(map[int32]struct{}, len(all))
	for _, pid := range all {
		alive[pid] = struct{}{}
		one := process.Process{Pid: pid}
		if parent, err := one.PpidWithContext(ctx); err == nil { // it may have ended
			children[parent] = append(children[parent], pid)
		}
	}
	t.forget(ctx, alive)
	if t.member != nil {
		for _, pid := range all {
			if t.member(int(pid)) {
				t.add(ctx, pid)
			}
		}
	}
	var todo []int32
	for pid := range t.known {
		todo = append(todo, pid)
	}
	for len(todo) > 0 {
		pid := todo[0]
		todo = todo[1:]
		for _, child := range children[pid] {
			if t.add(ctx, child) {
				todo = append(todo, child)
			}
		}
	}
	pids := make([]int, 0, len(t.known))
	for pid := range t.known {
		pids = append(pids, int(pid))
	}
	slices.Sort(pids)
	return pids, nil
}

// forget removes processes that have ended.
func (t *Tree) forget(ctx context.Context, alive map[int32]struct{}) {
	for pid, created := range t.known {
		if _, ok := alive[pid]; ok {
			if now, ok := createdAt(ctx, pid); ok && same(now, created) && !isZombie(ctx, pid) {
				continue
			}
		}
		delete(t.known, pid)
	}
}

// add makes a process part of the tree, and reports whether it is new.
func (t *Tree) add(ctx context.Context, pid int32) bool {
	if _, ok := t.known[pid]; ok || len(t.known) >= maxKnown || isZombie(ctx, pid) {
		return false
	}
	created, ok := createdAt(ctx, pid)
	if ok {
		t.known[pid] = created
	}
	return ok
}

// Listeners returns the ports on which the processes of the tree listen, without duplicates.
func (t *Tree) Listeners(ctx context.Context) ([]Listener, error) {
	pids, err := t.PIDs(ctx)
	if err != nil || len(pids) == 0 {
		return nil, err
	}
	var found []Listener
	seen := map[netip.AddrPort]struct{}{}
	note := func(c net.ConnectionStat) {
		l, ok := listenerOf(c)
		if _, again := seen[l.Addr]; !ok || again {
			return
		}
		seen[l.Addr] = struct{}{}
		found = append(found, l)
	}
	if runtime.GOOS == "linux" {
		for _, pid := range pids {
			of, err := net.ConnectionsPidWithContext(ctx, "tcp", int32(pid))
			if err != nil {
				continue // it has ended, or is another user's
			}
			for _, c := range of {
				c.Pid = int32(pid)
				note(c)
			}
		}
		return found, ctx.Err()
	}
	// Elsewhere each call starts a program, or reads the table of the whole machine.
	every, err := net.ConnectionsWithContext(ctx, "tcp")
	if err != nil {
		return nil, fmt.Errorf("list the listening ports: %w", err)
	}
	for _, c := range every {
		if _, ours := slices.BinarySearch(pids, int(c.Pid)); ours {
			note(c)
		}
	}
	return found, nil
}

func listenerOf(c net.ConnectionStat) (Listener, bool) {
	if c.Status != "LISTEN" || c.Laddr.Port == 0 || c.Laddr.Port > 65535 {
		return Listener{}, false
	}
	ip, err := netip.ParseAddr(c.Laddr.IP)
	if err != nil { // "*" on macOS
		ip = netip.IPv6Unspecified()
	}
	return Listener{PID: int(c.Pid), Addr: netip.AddrPortFrom(ip.Unmap().WithZone(""), uint16(c.Laddr.Port))}, true
}

// Created returns when a process was created, in milliseconds since 1970; ok is false if there is no such process.
func Created(ctx context.Context, pid int) (created int64, ok bool) {
	return createdAt(ctx, int32(pid))
}

// Is reports whether a process is the one that was created then and has not ended.
func Is(ctx context.Context, pid int, created int64) bool {
	now, ok := createdAt(ctx, int32(pid))
	return ok && same(now, created) && !isZombie(ctx, int32(pid))
}

func same(created, again int64) bool {
	return max(created, again)-min(created, again) <= createdWithin
}

func createdAt(ctx context.Context, pid int32) (int64, bool) {
	one := process.Process{Pid: pid}
	created, err := one.CreateTimeWithContext(ctx)
	return created, err == nil
}

// isZombie reports whether a process has ended and was not waited for.
func isZombie(ctx context.Context, pid int32) bool {
	one := process.Process{Pid: pid}
	status, err := one.StatusWithContext(ctx)
	return err == nil && slices.Contains(status, process.Zombie)
}
