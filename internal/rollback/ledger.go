package rollback

import (
	"strings"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
)

const (
	// CallsKept and bytesKept limit a ledger; there is one per process, whatever the number of namespaces. They have room
	// for 100,000 starts and resumes, and as many ends of runs.
	CallsKept = 200_000
	bytesKept = 64 << 20
	// entryBytes is the memory of an entry in addition to its texts.
	entryBytes = 192
)

// entry is one answered call.
type entry struct {
	home *Home
	call world.AnsweredCall
	at   time.Time
	gone bool // it is known to be lost, or need not be looked up again
}

func (e *entry) size() int {
	c := &e.call
	return entryBytes + len(c.RunID) + len(c.EventID) + len(c.HookID) + len(c.Token) + len(c.ResumeID) + len(c.WorkflowName)
}

// Ledger remembers the last answered calls: 200,000 of them, or as many as fit into 64 MiB. The zero value is empty.
type Ledger struct {
	mu      sync.Mutex
	entries []entry // in order; those before head are forgotten
	head    int
	base    int // the number of entries[0]
	bytes   int
}

func (l *Ledger) add(home *Home, call world.AnsweredCall, at time.Time) {
	// The texts may be parts of larger ones, which would be kept in memory with them.
	for _, text := range []*string{&call.RunID, &call.EventID, &call.HookID, &call.Token, &call.ResumeID, &call.WorkflowName} {
		*text = strings.Clone(*text)
	}
	e := entry{home: home, call: call, at: at}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	l.bytes += e.size()
	for len(l.entries)-l.head > CallsKept || l.bytes > bytesKept {
		l.dropFirst()
	}
	if l.head > len(l.entries)/2 { // reuse the space of forgotten entries
		n := copy(l.entries, l.entries[l.head:])
		clear(l.entries[n:])
		l.entries, l.base, l.head = l.entries[:n], l.base+l.head, 0
	}
}

func (l *Ledger) dropFirst() {
	l.bytes -= l.entries[l.head].size()
	l.entries[l.head] = entry{}
	l.head++
}

// forget drops the entries before a given time.
func (l *Ledger) forget(before time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.head < len(l.entries) && l.entries[l.head].at.Before(before) {
		l.dropFirst()
	}
	if l.head == len(l.entries) {
		l.base, l.entries, l.head = l.base+l.head, nil, 0
	}
}

// numbered is an entry with its number; numbers increase.
type numbered struct {
	number int
	entry
}

// after returns up to most entries with numbers from from to before.
func (l *Ledger) after(from, before int, most int) []numbered {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []numbered
	first := l.base + l.head
	for n := max(from, first); n < before && n < l.base+len(l.entries) && len(out) < most; n++ {
		if e := l.entries[n-l.base]; !e.gone {
			out = append(out, numbered{n, e})
		}
	}
	return out
}

// next is the number of the next entry, and first that of the oldest.
func (l *Ledger) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + len(l.entries)
}

func (l *Ledger) first() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + l.head
}

// settle marks an entry so that it is not looked up again.
func (l *Ledger) settle(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number >= l.base+l.head && number < l.base+len(l.entries) {
		l.entries[number-l.base].gone = true
	}
}
