package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	mostShown   = 5                // matching runs that are shown before they are changed
	mostRefused = 10               // refusals that are printed
	actGrace    = 10 * time.Second // how long calls in progress may continue after Ctrl-C
)

// runResult is what has happened to one run. With --json each is one line.
type runResult struct {
	RunID   string `json:"runId"`
	Outcome string `json:"outcome"`          // of delete: removed, gone, refused; of cancel: as the service answers
	Reason  string `json:"reason,omitempty"` // with an outcome that is not as requested
}

// manyRuns is a command that changes runs: those of its arguments, or all that match a filter.
type manyRuns struct {
	service  *service
	cmd      *cobra.Command
	filter   runFilter
	limit    int
	all      bool
	yes      bool
	dryRun   bool
	askOfOne bool // ask for confirmation of a single run, too

	verb     string   // "delete"
	done     string   // "removed"
	asked    string   // "removes %s permanently"
	statuses []string // that runs may have
	// act changes runs, and passes each result on. An error ends the command.
	act func(ctx context.Context, runIDs []string, report func(runResult)) error
	// good reports whether an outcome is what was requested.
	good func(outcome string) bool

	mu       sync.Mutex
	changed  int
	refused  int
	progress *progress
}

func (m *manyRuns) flags(cmd *cobra.Command) {
	m.cmd = cmd
	flags := cmd.Flags()
	m.filter.flags(flags)
	flags.IntVar(&m.limit, "limit", 0, "at most this many runs, the oldest; 0: all that match")
	flags.BoolVar(&m.all, "all", false, "every run that can be "+m.done)
	flags.BoolVar(&m.dryRun, "dry-run", false, "count and show the runs, and change nothing")
	flags.BoolVar(&m.yes, "yes", false, "do not ask for confirmation")
}

// run is the command.
func (m *manyRuns) run(ctx context.Context, args []string) error {
	if err := m.check(args); err != nil {
		return err
	}
	defer m.service.keepAlive()()
	var err error
	if len(args) > 0 {
		err = m.runNamed(ctx, args)
	} else {
		err = m.runMatching(ctx)
	}
	if err != nil && ctx.Err() != nil && m.changed == 0 {
		return errors.New("interrupted: nothing was " + m.done)
	}
	return err
}

func (m *manyRuns) check(args []string) error {
	switch {
	case len(args) > 0 && (!m.filter.empty() || m.all || m.limit != 0):
		return errors.New("name runs, or select them by filters, but not both")
	case len(args) == 0 && m.filter.empty() && !m.all:
		return errors.New("name the runs, or select them by at least one filter, or --all")
	case m.limit < 0:
		return errors.New("--limit must not be negative")
	}
	for _, status := range m.filter.statuses {
		if !slices.Contains(m.statuses, status) && (slices.Contains(activeStatuses, status) || slices.Contains(endedStatuses, status)) {
			return fmt.Errorf("--status %s: such a run cannot be %s; use %s", status, m.done, inWords(m.statuses))
		}
	}
	if len(m.filter.statuses) == 0 {
		m.filter.statuses = m.statuses
	}
	return nil
}

// runNamed changes the runs of the arguments.
func (m *manyRuns) runNamed(ctx context.Context, runIDs []string) error {
	if m.dryRun {
		return m.showNamed(ctx, runIDs)
	}
	if !m.yes && (m.askOfOne || len(runIDs) > 1) {
		what := "the run"
		if len(runIDs) > 1 {
			what = thousands(len(runIDs)) + " runs"
		}
		if err := m.confirm(ctx, what); err != nil {
			return err
		}
	}
	var first error
	m.progress = newProgress(m.cmd.ErrOrStderr(), "runs are "+m.done, len(runIDs))
	err := m.actOn(ctx, runIDs, func(r runResult) {
		if !m.good(r.Outcome) {
			if first == nil {
				first = errors.New(r.Reason)
			}
			if len(runIDs) > 1 {
				say(m.cmd.ErrOrStderr(), "%s is not %s: %s\n", r.RunID, m.done, r.Reason)
			}
			return
		}
		if !m.service.asJSON {
			say(m.cmd.OutOrStdout(), "%s is %s\n", r.RunID, m.done)
		}
	})
	m.progress.end()
	switch {
	case err != nil:
		return m.cutShort(ctx, err, len(runIDs))
	case m.refused > 0 && len(runIDs) == 1:
		return first
	case m.refused > 0:
		return fmt.Errorf("%s of %s runs are not %s", thousands(m.refused), thousands(len(runIDs)), m.done)
	}
	return nil
}

// showNamed is --dry-run for the runs of the arguments.
func (m *manyRuns) showNamed(ctx context.Context, runIDs []string) error {
	found := matching{byStatus: map[string]int{}}
	for _, runID := range runIDs {
		r, err := m.service.getRun(ctx, runID)
		var refused *callError
		switch {
		case errors.As(err, &refused) && refused.status != 0:
			say(m.cmd.ErrOrStderr(), "%v\n", err)
		case err != nil:
			return err
		case !slices.Contains(m.statuses, r.Status):
			say(m.cmd.ErrOrStderr(), "%s is %s and cannot be %s\n", runID, r.Status, m.done)
		default:
			found.add(r)
		}
	}
	return m.showMatching(found)
}

// runMatching changes the runs that match the filter. It counts them first, and then reads the same pages again: runs that are
// created in between are newer than the bound, so they do not count.
func (m *manyRuns) runMatching(ctx context.Context) error {
	now := time.Now()
	if err := m.filter.prepare(now); err != nil {
		return err
	}
	if m.filter.before == 0 {
		m.filter.before = now.UnixMilli() + 1
	}
	found, err := m.find(ctx)
	if err != nil {
		return err
	}
	if m.dryRun || found.count == 0 {
		return m.showMatching(found)
	}
	if !m.yes {
		found.write(m.cmd.ErrOrStderr())
		if err := m.confirm(ctx, plural(found.count)); err != nil {
			return err
		}
	}
	m.progress = newProgress(m.cmd.ErrOrStderr(), "runs are "+m.done, found.count)
	err = m.eachMatching(ctx, found.count, func(runs []runLine) error {
		runIDs := make([]string, len(runs))
		for i, r := range runs {
			runIDs[i] = r.RunID
		}
		return m.actOn(ctx, runIDs, m.printRefusal)
	})
	m.progress.end()
	if err != nil {
		return m.cutShort(ctx, err, found.count)
	}
	return m.sum()
}

func (m *manyRuns) printRefusal(r runResult) {
	switch {
	case m.good(r.Outcome):
	case m.refused <= mostRefused:
		say(m.cmd.ErrOrStderr(), "%s is not %s: %s\n", r.RunID, m.done, r.Reason)
	case m.refused == mostRefused+1:
		say(m.cmd.ErrOrStderr(), "more runs are not %s; --json shows all of them\n", m.done)
	}
}

// sum prints how many runs were changed.
func (m *manyRuns) sum() error {
	if !m.service.asJSON {
		say(m.cmd.OutOrStdout(), "%s %s\n", plural(m.changed), are(m.changed)+" "+m.done)
	}
	if m.refused > 0 {
		return fmt.Errorf("%s %s not %s", plural(m.refused), are(m.refused), m.done)
	}
	return nil
}

// actOn changes runs and counts what has happened.
func (m *manyRuns) actOn(ctx context.Context, runIDs []string, each func(runResult)) error {
	calls, stop := graceful(ctx)
	defer stop()
	encoder := json.NewEncoder(m.cmd.OutOrStdout())
	var printing error
	err := m.act(calls, runIDs, func(r runResult) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.good(r.Outcome) {
			m.changed++
		} else {
			m.refused++
		}
		if m.service.asJSON && printing == nil {
			printing = encoder.Encode(r)
		}
		each(r)
		m.progress.add(1)
	})
	return errors.Join(err, printing)
}

func (m *manyRuns) confirm(ctx context.Context, what string) error {
	in := m.cmd.InOrStdin()
	if file, ok := in.(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return fmt.Errorf("nothing was %s: there is no terminal to ask for confirmation, so %s needs --yes here", m.done, m.verb)
	}
	say(m.cmd.ErrOrStderr(), "This "+m.asked+". Type yes to continue: ", what)
	return readYes(ctx, in, "nothing was "+m.done)
}

func plural(n int) string {
	if n == 1 {
		return "1 run"
	}
	return thousands(n) + " runs"
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// inWords writes a, b or c.
func inWords(list []string) string {
	text := list[0]
	for i, word := range list[1:] {
		if i == len(list)-2 {
			text += " or " + word
		} else {
			text += ", " + word
		}
	}
	return text
}
