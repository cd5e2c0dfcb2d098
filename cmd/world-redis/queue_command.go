package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func queueCommand() *cobra.Command {
	s := &service{}
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the messages of a running service, redrive dead ones, drop one, pause and resume",
		Long: "Talks to a running service over HTTP (--url, --token).\n\n" +
			"A message is pending until there is a free slot, active while it is delivered, scheduled or in retry until\n" +
			"it is due, parked behind another one of its run, stalled while it waits for an app, dead when it has\n" +
			"failed too often, and completed when it is done (the last 100 completed and 1,000 dead ones are kept).\n\n" +
			"Exit code: 0 done, 1 refused or left undone, 2 no service answers.",
		Example: "  world-redis queue ls                     queue depths, and the first messages\n" +
			"  world-redis queue ls --state dead        dead messages, their runs and reasons\n" +
			"  world-redis queue ls --run wrun_01J…     what a run waits for\n" +
			"  world-redis queue redrive msg_01J…       deliver a dead message again\n" +
			"  world-redis queue drop msg_01J…          remove a message, whatever its state\n" +
			"  world-redis queue pause steps            stop deliveries of steps, on all replicas",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s.flags(cmd)
	cmd.AddCommand(s.listCommand(), s.showCommand(), s.redriveCommand(), s.dropCommand(), s.switchCommand("pause"), s.switchCommand("resume"))
	return cmd
}

func (s *service) listCommand() *cobra.Command {
	var state, queue, run, cursor string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List messages and queue depths",
		Long: "Lists messages: active, pending and ended ones newest first, delayed ones by due time.\n" +
			"With only --run: all messages that the run waits for.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			if run != "" && state == "" && queue == "" {
				answer, err := s.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(run)+"/messages", nil, nil)
				if err != nil {
					return err
				}
				return show(s, out, answer, func(p messagePage) { writeMessages(out, p.Data) })
			}
			query := url.Values{"limit": {fmt.Sprint(limit)}}
			for name, value := range map[string]string{"state": state, "queue": queue, "runId": run, "cursor": cursor} {
				if value != "" {
					query.Set(name, value)
				}
			}
			answer, err := s.call(ctx, http.MethodGet, "/v1/queue/messages", query, nil)
			if err != nil || s.asJSON {
				return s.orRaw(out, answer, err)
			}
			depths, err := s.call(ctx, http.MethodGet, "/v1/queue", nil, nil)
			if err != nil {
				return err
			}
			if err := show(s, out, depths, func(d depthList) { writeDepths(out, d) }); err != nil {
				return err
			}
			if err := s.showShared(ctx, out); err != nil {
				return err
			}
			return show(s, out, answer, func(p messagePage) {
				writeMessages(out, p.Data)
				if p.HasMore {
					say(out, "\nThere are more: --cursor %s\n", p.Cursor)
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&state, "state", "", "active, pending, retry, stalled, scheduled, parked, dead or completed")
	f.StringVar(&queue, "queue", "", "flows or steps")
	f.StringVar(&run, "run", "", "id of a run")
	f.IntVar(&limit, "limit", 50, "number of messages, at most 200")
	f.StringVar(&cursor, "cursor", "", "cursor from an earlier list")
	return cmd
}

func (s *service) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show MESSAGE",
		Short: "Show one message",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := s.call(cmd.Context(), http.MethodGet, "/v1/queue/messages/"+url.PathEscape(args[0]), nil, nil)
			if err != nil {
				return err
			}
			return show(s, cmd.OutOrStdout(), answer, func(m messageLine) { writeMessage(cmd.OutOrStdout(), m) })
		},
	}
}

func (s *service) redriveCommand() *cobra.Command {
	var run, queue string
	var all, force bool
	cmd := &cobra.Command{
		Use:   "redrive [MESSAGE]",
		Short: "Deliver dead messages again: one, those of a run, or all",
		Long: "Makes dead messages pending again, with their failures reset. One whose run has ended stays dead, since\n" +
			"it would change nothing; --force delivers it anyway. One whose idempotency key another message has\n" +
			"now stays dead. The exit code is 1 if the named message stays dead.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if len(args) == 1 {
				body["messageId"] = args[0]
			}
			if run != "" {
				body["runId"] = run
			}
			if all {
				body["all"] = true
			}
			if len(body) != 1 {
				return errors.New("name what to redrive: exactly one of a message id, --run or --all")
			}
			if queue != "" {
				body["queue"] = queue
			}
			if force {
				body["force"] = true
			}
			answer, err := s.call(cmd.Context(), http.MethodPost, "/v1/queue/redrive", nil, body)
			if err != nil {
				return err
			}
			return s.printRedriven(cmd.OutOrStdout(), answer, len(args) == 1)
		},
	}
	f := cmd.Flags()
	f.StringVar(&run, "run", "", "all dead messages of this run")
	f.StringVar(&queue, "queue", "", "with --run or --all: flows or steps only")
	f.BoolVar(&all, "all", false, "all dead messages")
	f.BoolVar(&force, "force", false, "even messages whose run has ended")
	return cmd
}

func (s *service) switchCommand(verb string) *cobra.Command {
	short, said := "Stop deliveries of a queue, on all replicas; running deliveries continue", "paused"
	if verb == "resume" {
		short, said = "Resume deliveries of a queue", "resumed"
	}
	return &cobra.Command{
		Use:       verb + " flows|steps",
		Short:     short,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"flows", "steps"},
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := s.call(cmd.Context(), http.MethodPost, "/v1/queue/"+args[0]+"/"+verb, nil, nil)
			if err != nil || s.asJSON {
				return s.orRaw(cmd.OutOrStdout(), answer, err)
			}
			say(cmd.OutOrStdout(), "%s: %s\n", args[0], said)
			return nil
		},
	}
}

// orRaw prints an answer unchanged, unless there is none.
func (s *service) orRaw(out io.Writer, answer []byte, err error) error {
	if err == nil {
		say(out, "%s\n", answer)
	}
	return err
}

func (s *service) printRedriven(out io.Writer, answer []byte, named bool) error {
	var r redriveAnswer
	if err := json.Unmarshal(answer, &r); err != nil {
		return unexpectedAnswer(err)
	}
	if s.asJSON {
		say(out, "%s\n", answer)
	} else {
		writeRedriven(out, r)
	}
	if named && r.Redriven == 0 {
		return errors.New("the message was not changed")
	}
	return nil
}
