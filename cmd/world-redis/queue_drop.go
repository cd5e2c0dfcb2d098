package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// dropAnswer is the service's answer to a drop.
type dropAnswer struct {
	MessageID, Outcome, State, RunID string
	Left                             int64
}

func (s *service) dropCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "drop MESSAGE",
		Short: "Remove a message in any state",
		Long: "Removes a message permanently: pending, scheduled, in retry, parked, stalled, dead or completed. One in\n" +
			"delivery (active) stays until that ends, and is not delivered again, however it ends.\n\n" +
			"The run keeps its log. If it has no other message, recovery wakes it about a minute after\n" +
			"its last event, and the app queues again what the run needs, unless the run has ended or waits only for\n" +
			"its hooks. `world-redis runs wake RUN` wakes it immediately. To get rid of the work, cancel the run.\n\n" +
			"Asks for confirmation; --yes skips that, and is required without a terminal. If the message does not\n" +
			"exist any more, the exit code is 1.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/v1/queue/messages/" + url.PathEscape(args[0])
			if !yes {
				if err := s.confirmDrop(cmd, path); err != nil {
					return err
				}
			}
			answer, err := s.call(cmd.Context(), http.MethodPost, path+"/drop", nil, nil)
			if err != nil {
				return err
			}
			return show(s, cmd.OutOrStdout(), answer, func(d dropAnswer) { writeDropped(cmd.OutOrStdout(), d) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// confirmDrop shows the message and asks for confirmation.
func (s *service) confirmDrop(cmd *cobra.Command, path string) error {
	in := cmd.InOrStdin()
	if file, ok := in.(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return errors.New("nothing was removed: there is no terminal to ask for confirmation, so drop needs --yes here")
	}
	answer, err := s.call(cmd.Context(), http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	out := cmd.ErrOrStderr()
	shown := *s
	shown.asJSON = false
	if err := show(&shown, out, answer, func(m messageLine) { writeMessage(out, m) }); err != nil {
		return err
	}
	say(out, "\nThis removes the message permanently. Type yes to continue: ")
	return readYes(cmd.Context(), in, "nothing was removed")
}

// readYes returns nil if the next line is yes; otherwise the error that says what follows from it.
func readYes(ctx context.Context, in io.Reader, otherwise string) error {
	typed := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // whatever there is of it
		typed <- strings.TrimSpace(line)
	}()
	select {
	case text := <-typed:
		if text != "yes" {
			return errors.New(otherwise)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", otherwise, ctx.Err())
	}
}

func writeDropped(out io.Writer, d dropAnswer) {
	if d.Outcome == "in_hand" {
		say(out, "%s is in delivery: it is removed when that ends, and is not delivered again\n", d.MessageID)
		d.Left--
	} else {
		say(out, "%s is removed; it was %s\n", d.MessageID, d.State)
	}
	switch {
	case d.RunID == "":
	case d.Left > 0:
		say(out, "run %s has %d more (world-redis queue ls --run %s)\n", d.RunID, d.Left, d.RunID)
	default:
		say(out, "run %s has no other message: recovery wakes it about a minute after its last event, unless it has ended or waits only for its hooks\n", d.RunID)
	}
}
