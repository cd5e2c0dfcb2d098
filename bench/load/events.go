package main

import (
	"context"

	"github.com/spf13/cobra"
)

// httpCaller creates events through the HTTP API.
type httpCaller struct {
	conn   *conn
	bodies [][]byte
}

func (c *httpCaller) event(_ context.Context, runID string, n int) error {
	return c.conn.post("/v1/runs/"+runID+"/events", c.bodies[n])
}

func eventsCommand() *cobra.Command {
	var url string
	var runs, callers, size int
	cmd := &cobra.Command{
		Use:   "events",
		Short: "write runs of six events through the HTTP API",
		RunE: func(cmd *cobra.Command, _ []string) error {
			events, err := sixEvents(size, "workflow//./bench//load", "step_"+newRunID()[5:])
			if err != nil {
				return err
			}
			bodies, err := bodiesOf(events)
			if err != nil {
				return err
			}
			r, err := drive(cmd.Context(), runs, callers, len(bodies), func(ctx context.Context) (caller, error) {
				c, err := dial(ctx, url)
				return &httpCaller{conn: c, bodies: bodies}, err
			})
			if err != nil {
				return err
			}
			return report(r)
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "address of the service")
	cmd.Flags().IntVar(&runs, "runs", 1000, "how many")
	cmd.Flags().IntVar(&callers, "callers", 256, "at once")
	cmd.Flags().IntVar(&size, "size", 300, "bytes of each of the four payloads")
	return cmd
}
