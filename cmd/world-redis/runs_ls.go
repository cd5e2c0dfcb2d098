package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis"
)

// mostListed is the most runs of one `runs ls`.
const mostListed = 10_000

func (s *service) listRunsCommand() *cobra.Command {
	var f runFilter
	var limit int
	var cursor string
	var oldest bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List runs, newest first",
		Long: "Lists runs by name, status, age, attribute and parent. A run's age counts from its creation. The parent of\n" +
			"a run is known with SDK v5, which stores it in the attribute " + parentAttribute + ".\n\n" +
			"A full name, status and age are looked up in the service's lists. For a pattern, an attribute or a parent the\n" +
			"command reads every run that these leave, 1,000 at a time: give an age to read less.\n\n" +
			"With --json each run is one line: runId, status, workflowName, deploymentId, createdAt, startedAt?,\n" +
			"completedAt?, parentRunId?, errorCode?, specVersion?, attributes?. Times are epoch milliseconds.",
		Example: "  world-redis runs ls --status failed,cancelled --newer-than 24h\n" +
			"  world-redis runs ls --workflow 'report-*' --older-than 7d --json | jq -r .runId\n" +
			"  world-redis runs ls --attribute customer=acme\n" +
			"  world-redis runs ls --parent wrun_01J…",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > mostListed {
				return fmt.Errorf("--limit must be 1 to %d", mostListed)
			}
			if err := f.prepare(time.Now()); err != nil {
				return err
			}
			order := world.Descending
			if oldest {
				order = world.Ascending
			}
			defer s.keepAlive()()
			return s.printRuns(cmd.Context(), cmd, &f, order, cursor, limit)
		},
	}
	flags := cmd.Flags()
	f.flags(flags)
	flags.IntVar(&limit, "limit", 50, fmt.Sprintf("number of runs, at most %d", mostListed))
	flags.StringVar(&cursor, "cursor", "", "cursor from an earlier list")
	flags.BoolVar(&oldest, "oldest-first", false, "oldest first")
	return cmd
}

func (s *service) printRuns(ctx context.Context, cmd *cobra.Command, f *runFilter, order world.Order, cursor string, limit int) error {
	runs, next, err := s.findRuns(ctx, cmd.ErrOrStderr(), f, order, cursor, limit)
	out := cmd.OutOrStdout()
	switch {
	case s.asJSON:
		if err := errors.Join(err, printLines(out, runs)); err != nil {
			return err
		}
	case len(runs) == 0 && err == nil:
		say(out, "no runs\n")
	case len(runs) > 0:
		writeRuns(out, runs)
	}
	if err != nil {
		return err
	}
	if next != "" && !s.asJSON {
		say(out, "\nThere are more: --cursor %s\n", next)
	} else if next != "" {
		say(cmd.ErrOrStderr(), "There are more: --cursor %s\n", next)
	}
	return nil
}

// findRuns returns up to limit runs that match, and the cursor after them if there may be more.
func (s *service) findRuns(ctx context.Context, progress io.Writer, f *runFilter, order world.Order, cursor string, limit int) (runs []runLine, next string, err error) {
	size := world.MaxPage
	if f.inService() {
		size = limit
	}
	looked := newProgress(progress, "runs are read", 0)
	defer looked.end()
	for page, err := range s.runPages(ctx, f, order, cursor, size) {
		if err != nil {
			return runs, "", err
		}
		for i, r := range page.Data {
			if !f.match(r) {
				continue
			}
			runs = append(runs, r)
			if len(runs) < limit {
				continue
			}
			if i == len(page.Data)-1 {
				if page.HasMore {
					next = page.Cursor
				}
				return runs, next, nil
			}
			next, err = s.cursorAfter(ctx, f, order, page, i)
			return runs, next, err
		}
		looked.add(len(page.Data))
	}
	return runs, "", nil
}

// cursorAfter returns the cursor after a run in the middle of a page: that of the shorter page that ends with this run. If the
// list has changed, it is the cursor with which the page began, so that no run is left out.
func (s *service) cursorAfter(ctx context.Context, f *runFilter, order world.Order, page runPage, at int) (string, error) {
	shorter, err := s.runPage(ctx, f, order, page.from, at+1)
	if err != nil {
		return "", err
	}
	if len(shorter.Data) != at+1 || shorter.Data[at].RunID != page.Data[at].RunID {
		return page.from, nil
	}
	return shorter.Cursor, nil
}

func printLines(out io.Writer, runs []runLine) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, r := range runs {
		if err := encoder.Encode(r.printed()); err != nil {
			return err
		}
	}
	return nil
}

func writeRuns(out io.Writer, runs []runLine) {
	table(out, func(w io.Writer) {
		say(w, "RUN\tSTATUS\tCREATED\tTOOK\tWORKFLOW\tPARENT\n")
		for _, r := range runs {
			say(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.RunID, r.Status, timestamp(r.CreatedAt), r.took(), r.WorkflowName, dash(r.Attributes[parentAttribute]))
		}
	})
}

// took returns the time from the creation of a run to its end.
func (r runLine) took() string {
	if r.CompletedAt == 0 {
		return "-"
	}
	d := max(0, time.Duration(r.CompletedAt-r.CreatedAt)*time.Millisecond)
	if d >= time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}
