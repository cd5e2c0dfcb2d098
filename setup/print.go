package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

func (c *call) print() error {
	if c.options.JSON {
		return printJSON(c.options.Out, c.report)
	}
	p := printer{w: c.options.Out, color: c.options.Color}
	r := c.report
	server := r.Mode
	if r.Server != "" {
		server += ", " + r.Server
	}
	p.line("Redis at %s (%s)", r.Address, server)
	p.line("keys under %q, queues %sflows and %ssteps", r.Prefix, r.JobPrefix, r.JobPrefix)
	p.checks(r.Checks)
	p.keys(r)
	if !c.options.Flush {
		p.queues(r.Queues)
	}
	return p.err
}

func (c *call) printFlushed() error {
	if c.options.JSON {
		return printJSON(c.options.Out, c.report)
	}
	_, err := fmt.Fprintf(c.options.Out, "%d keys under %q are deleted.\n", c.report.Flushed.Deleted, c.options.Prefix)
	return err
}

func printJSON(w io.Writer, r Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}

// printer writes until the first error, which it keeps.
type printer struct {
	w     io.Writer
	color bool
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// table prints rows in aligned columns; tabs separate the cells.
func (p *printer) table(rows func(line func(format string, args ...any))) {
	if p.err != nil {
		return
	}
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	inner := printer{w: w}
	rows(inner.line)
	if p.err = inner.err; p.err == nil {
		p.err = w.Flush()
	}
}

func (p *printer) checks(checks []Check) {
	if len(checks) == 0 {
		return
	}
	p.line("")
	p.table(func(line func(string, ...any)) {
		for _, c := range checks {
			line("%s\t%s\t%s", p.verdict(c.Verdict), c.Name, c.Message)
		}
	})
	for _, c := range checks {
		if c.Advice != "" {
			p.line("%s %s: %s", p.verdict(c.Verdict), c.Name, c.Advice)
		}
	}
}

// verdict colours a verdict. All colour codes have the same length, so columns stay aligned.
func (p *printer) verdict(v Verdict) string {
	if !p.color {
		return string(v)
	}
	code := map[Verdict]int{OK: 32, Warn: 33, Fail: 31}[v]
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, v)
}

func (p *printer) keys(r Report) {
	p.line("")
	p.table(func(line func(string, ...any)) {
		line("KEYS\tKIND\tDATA STRUCTURE\tHOLDS")
		for _, k := range r.Keys {
			line("%d\t%s\t%s\t%s", k.Count, k.Kind, k.Type, k.Holds)
		}
		line("%d\tin all", r.TotalKeys)
	})
	if r.OtherKeys > 0 {
		p.line("%d more keys begin with %q but belong to a longer prefix; they are left alone.", r.OtherKeys, r.Prefix)
	}
}

func (p *printer) queues(depths []QueueDepth) {
	p.line("")
	if depths == nil {
		p.line("queue depths: unknown")
		return
	}
	p.table(func(line func(string, ...any)) {
		line("QUEUE\tPENDING\tACTIVE\tSCHEDULED\tRETRY\tSTALLED\tDEAD")
		for _, d := range depths {
			line("%s\t%d\t%d\t%d\t%d\t%d\t%d", d.Queue, d.Pending, d.Active, d.Scheduled, d.Retry, d.WaitingForApp, d.Dead)
		}
	})
}
