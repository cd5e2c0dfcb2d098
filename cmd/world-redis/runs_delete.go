package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (s *service) deleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete RUN...",
		Short: "Remove runs that have ended",
		Long: "Removes runs with their logs, steps, hooks, streams and messages, permanently. A run that has not ended is\n" +
			"refused, and so is one whose hook keeps its token (tokenRetentionUntil). A removed run is never created anew:\n" +
			"a late start of it is answered as for a run that does not exist.\n\n" +
			"Asks for confirmation; --yes skips that, and is required without a terminal. If one run is refused, the\n" +
			"others are removed, and the exit code is 1.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := confirmDelete(cmd, len(args)); err != nil {
					return err
				}
			}
			refused := 0
			for _, runID := range args {
				if _, err := s.call(cmd.Context(), http.MethodDelete, "/v1/runs/"+url.PathEscape(runID), nil, nil); err != nil {
					if away := new(awayError); errors.As(err, &away) || cmd.Context().Err() != nil || len(args) == 1 {
						return err
					}
					refused++
					say(cmd.ErrOrStderr(), "%s is not removed: %v\n", runID, err)
					continue
				}
				say(cmd.OutOrStdout(), "%s is removed\n", runID)
			}
			if refused > 0 {
				return fmt.Errorf("%d of %d runs are not removed", refused, len(args))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func confirmDelete(cmd *cobra.Command, runs int) error {
	in := cmd.InOrStdin()
	if file, ok := in.(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return errors.New("nothing was removed: there is no terminal to ask for confirmation, so delete needs --yes here")
	}
	what := "the run"
	if runs != 1 {
		what = fmt.Sprintf("%d runs", runs)
	}
	say(cmd.ErrOrStderr(), "This removes %s permanently. Type yes to continue: ", what)
	return readYes(cmd.Context(), in)
}
