package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

// wakeAnswer is the service's answer to waking a run.
type wakeAnswer struct{ RunID, MessageID, Status, WorkflowName, DeploymentID string }

func (s *service) wakeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "wake RUN",
		Short: "Make a run read its log and continue",
		Long: "Queues a wake-up of a run, as recovery does for a run that nothing else will wake: its app reads the log\n" +
			"and continues from there. It does no harm to an active run. If a wake-up already waits to be delivered,\n" +
			"the two are merged. A run that has ended, or does not exist, is refused.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			answer, err := s.call(ctx, http.MethodPost, "/v1/runs/"+url.PathEscape(args[0])+"/wake", nil, nil)
			if err != nil {
				return err
			}
			return show(s, out, answer, func(w wakeAnswer) {
				say(out, "run %s (%s, %s) is woken by message %s%s\n", w.RunID, w.WorkflowName, w.Status, w.MessageID, s.whereIs(ctx, w.MessageID))
			})
		},
	}
}

// whereIs returns the state of the message; "" if the service does not know it.
func (s *service) whereIs(ctx context.Context, messageID string) string {
	answer, err := s.call(ctx, http.MethodGet, "/v1/queue/messages/"+url.PathEscape(messageID), nil, nil)
	var m messageLine
	if err != nil || json.Unmarshal(answer, &m) != nil {
		return "" // it was already delivered
	}
	text := ", which is " + m.State
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return text
}
