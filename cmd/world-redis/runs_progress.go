package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// The pauses between two lines of progress, on a terminal and in a file.
const (
	progressOften  = 500 * time.Millisecond
	progressSeldom = 10 * time.Second
)

// progress shows how far a long command has come, with its rate and the remaining time. It is silent for the first pause, so a
// short command shows nothing. It is safe for concurrent use.
type progress struct {
	out         io.Writer
	what        string // "runs are removed"
	total       int    // 0: unknown
	interactive bool   // each line replaces the one before
	every       time.Duration
	now         func() time.Time

	mu          sync.Mutex
	done        int
	begun, last time.Time
	shown       bool
}

func newProgress(out io.Writer, what string, total int) *progress {
	p := &progress{out: out, what: what, total: total, every: progressSeldom, now: time.Now}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.interactive, p.every = true, progressOften
	}
	p.begun = p.now()
	p.last = p.begun
	return p
}

// add counts n more, and shows a line if it is time for one.
func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := p.now()
	if now.Sub(p.last) < p.every {
		return
	}
	p.last, p.shown = now, true
	begin, end := "", "\n"
	if p.interactive {
		begin, end = "\r\x1b[K", ""
	}
	say(p.out, "%s%s%s", begin, p.line(now.Sub(p.begun)), end)
}

func (p *progress) line(took time.Duration) string {
	text := thousands(p.done)
	if p.total > 0 {
		text += " of " + thousands(p.total)
	}
	rate := float64(p.done) / took.Seconds()
	text += fmt.Sprintf(" %s, %s a second", p.what, thousands(int(rate)))
	if p.total > p.done && rate > 0 {
		left := time.Duration(float64(p.total-p.done) / rate * float64(time.Second))
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
}

// end removes the line from a terminal.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && p.interactive {
		say(p.out, "\r\x1b[K")
	}
	p.shown = false
}

// thousands writes a number as 1,234,567.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
