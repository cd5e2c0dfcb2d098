package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis"
)

// cancelledRuns is the service's answer to a cancellation of several runs.
type cancelledRuns struct {
	Results []struct{ RunID, Outcome, Status, Code string }
}

func (s *service) cancelCommand() *cobra.Command {
	var reason string
	m := &manyRuns{
		service: s, verb: "cancel", done: "cancelled", asked: "cancels %s", statuses: activeStatuses,
		good: func(outcome string) bool {
			return outcome == string(world.Cancelled) || outcome == string(world.AlreadyCancelled)
		},
	}
	cmd := &cobra.Command{
		Use:   "cancel [RUN...]",
		Short: "Cancel runs that have not ended",
		Long: "Cancels runs, as the SDK does: those that are named, or all that match the filters, oldest first. Steps that\n" +
			"are running continue to their end, and nothing follows them.\n\n" +
			"With filters, the runs are counted and the first are shown. Before it cancels several, it asks for\n" +
			"confirmation; --yes skips that, and is required without a terminal. Ctrl-C stops it and says how far it\n" +
			"came; the same command continues. If a run is not cancelled, the others are, and the exit code is 1.\n\n" +
			"With --json each run is one line: runId, outcome (cancelled, already_cancelled, not_cancellable, not_found,\n" +
			"failed), reason?. With --dry-run it is one line: dryRun, matching, byStatus, first (runs as of `runs ls --json`).",
		Example: "  world-redis runs cancel wrun_01J… --reason 'wrong customer'\n" +
			"  world-redis runs cancel --workflow 'workflow//./src/report//report' --newer-than 1h\n" +
			"  world-redis runs cancel --parent wrun_01J… --yes",
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	m.act = func(ctx context.Context, runIDs []string, report func(runResult)) error {
		for part := range slices.Chunk(runIDs, world.MaxCancelRuns) {
			if err := mayBegin(ctx); err != nil {
				return err
			}
			if err := s.cancelRuns(ctx, part, reason, report); err != nil {
				return err
			}
		}
		return nil
	}
	m.flags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is stored with each run, at most 512 characters")
	return cmd
}

func (s *service) cancelRuns(ctx context.Context, runIDs []string, reason string, report func(runResult)) error {
	body := map[string]any{"runIds": runIDs}
	if reason != "" {
		body["cancelReason"] = reason
	}
	answer, err := s.callPatiently(ctx, http.MethodPost, "/v1/runs/cancel", body)
	if err != nil {
		return err
	}
	var c cancelledRuns
	if err := json.Unmarshal(answer, &c); err != nil {
		return unexpectedAnswer(err)
	}
	for _, r := range c.Results {
		result := runResult{RunID: r.RunID, Outcome: r.Outcome}
		switch world.CancelOutcome(r.Outcome) {
		case world.NotCancellable:
			result.Reason = "it has ended: " + r.Status
		case world.CancelNotFound:
			result.Reason = "no such run: " + r.RunID
		case world.CancelFailed:
			result.Reason = "the service could not cancel it: " + r.Code
		}
		report(result)
	}
	return nil
}
