package setup

import (
	"fmt"
	"io"
)

// progress is a line that shows how far the work is: redrawn in place on a terminal, otherwise printed from time to
// time.
type progress struct {
	out      io.Writer
	terminal bool
	done     string // what happens to the keys: "deleted"
	every    int64  // keys between two lines
	shown    int64
}

const (
	deletedStep = 10_000
	lookedStep  = 100_000
)

func newProgress(o Options, done string, every int64) *progress {
	return &progress{out: o.Err, terminal: o.Interactive, done: done, every: every}
}

func (p *progress) show(n, of int64) error {
	if n-p.shown < p.every {
		return nil
	}
	p.shown = n
	form := "%s %d of %d keys\n"
	if p.terminal {
		form = "\r%s %d of %d keys"
	}
	_, err := fmt.Fprintf(p.out, form, p.done, n, of)
	return err
}

func (p *progress) end() error {
	if !p.terminal || p.shown == 0 {
		return nil
	}
	_, err := fmt.Fprintln(p.out)
	return err
}
