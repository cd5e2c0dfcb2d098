package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// deletesAtOnce is how many runs are removed at a time.
const deletesAtOnce = 8

// The outcomes of a removal.
const (
	runRemoved = "removed"
	runGone    = "gone" // there is no such run
	runRefused = "refused"
)

func (s *service) deleteCommand() *cobra.Command {
	m := &manyRuns{
		service: s, verb: "delete", done: "removed", asked: "removes %s permanently", statuses: endedStatuses, askOfOne: true,
		good: func(outcome string) bool { return outcome == runRemoved },
	}
	cmd := &cobra.Command{
		Use:   "delete [RUN...]",
		Short: "Remove runs that have ended",
		Long: "Removes runs with their logs, steps, hooks, streams and messages, permanently: those that are named, or all\n" +
			"that match the filters, oldest first. A run that has not ended is refused, and so is one whose hook keeps\n" +
			"its token (tokenRetentionUntil). A removed run is never created anew: a late start of it is answered as for\n" +
			"a run that does not exist.\n\n" +
			"With filters, the runs are counted and the first are shown. Then it asks for confirmation; --yes skips that,\n" +
			"and is required without a terminal. Ctrl-C stops it and says how far it came; the same command continues.\n" +
			"If a run is refused, the others are removed, and the exit code is 1.\n\n" +
			"With --json each run is one line: runId, outcome (removed, gone, refused), reason?. With --dry-run it is\n" +
			"one line: dryRun, matching, byStatus, first (runs as of `runs ls --json`).",
		Example: "  world-redis runs delete wrun_01J…\n" +
			"  world-redis runs delete --status completed --older-than 7d --dry-run\n" +
			"  world-redis runs delete --workflow 'report-*' --older-than 1d --yes\n" +
			"  world-redis runs delete --all --limit 1000",
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	m.act = func(ctx context.Context, runIDs []string, report func(runResult)) error {
		return s.deleteRuns(ctx, runIDs, len(runIDs) > 1, report)
	}
	m.flags(cmd)
	return cmd
}

// deleteRuns removes runs, a few at a time. An error means that the service does not remove any at the moment.
func (s *service) deleteRuns(ctx context.Context, runIDs []string, many bool, report func(runResult)) error {
	at := 1
	if many {
		at = deletesAtOnce
	}
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(at)
	for _, runID := range runIDs {
		group.Go(func() error {
			if err := mayBegin(ctx); err != nil || failed.Load() {
				return err
			}
			result, err := s.deleteRun(ctx, runID)
			if err != nil {
				failed.Store(true)
				return err
			}
			report(result)
			return nil
		})
	}
	return group.Wait()
}

func (s *service) deleteRun(ctx context.Context, runID string) (runResult, error) {
	_, err := s.callPatiently(ctx, http.MethodDelete, "/v1/runs/"+url.PathEscape(runID), nil)
	var refused *callError
	switch {
	case err == nil:
		return runResult{RunID: runID, Outcome: runRemoved}, nil
	case !errors.As(err, &refused) || refused.temporary() || refused.status == http.StatusUnauthorized:
		return runResult{}, err
	case refused.status == http.StatusNotFound:
		return runResult{RunID: runID, Outcome: runGone, Reason: err.Error()}, nil
	default:
		return runResult{RunID: runID, Outcome: runRefused, Reason: err.Error()}, nil
	}
}
