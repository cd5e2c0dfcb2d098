package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

// lostPage is the service's list of calls that Redis lost.
type lostPage struct {
	Data []struct {
		Kind, RunID, WorkflowName, HookID, Token string
		AnsweredAt                               int64 // ms
	}
	Cursor  string
	HasMore bool
}

func (s *service) lostCommand() *cobra.Command {
	var cursor string
	var limit int
	cmd := &cobra.Command{
		Use:   "lost",
		Short: "List acknowledged starts and resumes that Redis lost",
		Long: "Redis replicates after it has answered: if a master dies, the writes that its replica lacks are lost.\n" +
			"Each replica of the service remembers the starts and resumes that it answered, the last 100,000 for five\n" +
			"minutes, and looks them up after a change of master or a restart of Redis. Those that are missing are in\n" +
			"its log at ERROR and here, newest first, for a day and at most 10,000. Start these runs, and resume\n" +
			"these hooks, again: nothing else does. The calls of a service that ended at the same time are not known.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {fmt.Sprint(limit)}}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			answer, err := s.call(cmd.Context(), http.MethodGet, "/v1/runs/lost", query, nil)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			return show(s, out, answer, func(p lostPage) { writeLost(out, p) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&limit, "limit", 100, "number of calls, at most 1000")
	f.StringVar(&cursor, "cursor", "", "cursor from an earlier list")
	return cmd
}

func writeLost(out io.Writer, p lostPage) {
	if len(p.Data) == 0 {
		say(out, "no acknowledged start or resume is known to be lost\n")
		return
	}
	table(out, func(w io.Writer) {
		say(w, "ANSWERED\tLOST\tRUN\tWORKFLOW\tHOOK\tTOKEN\n")
		for _, c := range p.Data {
			say(w, "%s\t%s\t%s\t%s\t%s\t%s\n", timestamp(c.AnsweredAt), c.Kind, c.RunID, dash(c.WorkflowName), dash(c.HookID), dash(c.Token))
		}
	})
	if p.HasMore {
		say(out, "\nThere are more: --cursor %s\n", p.Cursor)
	}
}
