package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/world-redis/world-redis"
)

// matching is what is known about the runs that match.
type matching struct {
	count    int
	byStatus map[string]int
	first    []runLine // the oldest
}

func (x *matching) add(r runLine) {
	x.count++
	x.byStatus[r.Status]++
	if len(x.first) < mostShown {
		x.first = append(x.first, r)
	}
}

// find counts the runs that match.
func (m *manyRuns) find(ctx context.Context) (matching, error) {
	found := matching{byStatus: map[string]int{}}
	m.progress = newProgress(m.cmd.ErrOrStderr(), "runs are counted", 0)
	defer m.progress.end()
	most := m.limit
	if most == 0 {
		most = -1
	}
	err := m.eachMatching(ctx, most, func(runs []runLine) error {
		for _, r := range runs {
			found.add(r)
		}
		m.progress.add(len(runs))
		return nil
	})
	return found, err
}

// eachMatching calls do for the runs that match, oldest first and page by page, for at most so many; -1: all.
func (m *manyRuns) eachMatching(ctx context.Context, most int, do func(runs []runLine) error) error {
	for page, err := range m.service.runPages(ctx, &m.filter, world.Ascending, "", world.MaxPage) {
		if err != nil {
			return err
		}
		runs := slices.DeleteFunc(page.Data, func(r runLine) bool { return !m.filter.match(r) })
		if most >= 0 {
			runs = runs[:min(most, len(runs))]
			most -= len(runs)
		}
		if len(runs) > 0 {
			if err := do(runs); err != nil {
				return err
			}
		}
		if most == 0 {
			return nil
		}
	}
	return nil
}

// printedMatching is --dry-run with --json: one line.
type printedMatching struct {
	DryRun   bool           `json:"dryRun"`
	Matching int            `json:"matching"`
	ByStatus map[string]int `json:"byStatus"`
	First    []printedRun   `json:"first"`
}

// showMatching prints which runs match, for --dry-run.
func (m *manyRuns) showMatching(found matching) error {
	out := m.cmd.OutOrStdout()
	switch {
	case m.service.asJSON && m.dryRun:
		line := printedMatching{DryRun: true, Matching: found.count, ByStatus: found.byStatus, First: []printedRun{}}
		for _, r := range found.first {
			line.First = append(line.First, r.printed())
		}
		return json.NewEncoder(out).Encode(line)
	case found.count == 0:
		if !m.service.asJSON {
			say(out, "no runs match\n")
		}
		return nil
	}
	found.write(out)
	say(out, "Nothing was %s (--dry-run).\n", m.done)
	return nil
}

func (x *matching) write(out io.Writer) {
	say(out, "%s:", plural(x.count))
	separator := " "
	for _, status := range append(slices.Clone(activeStatuses), endedStatuses...) {
		if n := x.byStatus[status]; n > 0 {
			say(out, "%s%s %s", separator, thousands(n), status)
			separator = ", "
		}
	}
	say(out, "\n\n")
	writeRuns(out, x.first)
	if x.count > len(x.first) {
		say(out, "and %s more\n", thousands(x.count-len(x.first)))
	}
	say(out, "\n")
}
