package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis"
)

// workflows is the number of workflows to which the runs of a filled store belong, so that filters select some of
// them.
const workflows = 50

// fillCaller creates runs without steps: of a hundred, one stays pending, one running, and the others are completed.
type fillCaller struct {
	conn   *conn
	bodies [workflows][][]byte
	count  *atomic.Int64
}

func (c *fillCaller) event(_ context.Context, runID string, _ int) error {
	n := c.count.Add(1)
	path := "/v1/runs/" + runID + "/events"
	bodies := c.bodies[n%workflows]
	calls := []int{0, 1, 2}
	switch n % 100 {
	case 0:
		calls = calls[:1]
	case 1:
		calls = calls[:2]
	}
	for _, call := range calls {
		if err := c.conn.post(path, bodies[call]); err != nil {
			return err
		}
	}
	return nil
}

func fillCommand() *cobra.Command {
	var url string
	var runs, callers int
	cmd := &cobra.Command{
		Use:   "fill",
		Short: "fill the store with runs of 50 workflows, 98 % of them completed",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var bodies [workflows][][]byte
			for i := range bodies {
				six, err := sixEvents(32, fmt.Sprintf("workflow//./bench//fill%d", i), "step_none")
				if err != nil {
					return err
				}
				if bodies[i], err = bodiesOf([]world.CreateEvent{six[0], six[1], six[5]}); err != nil {
					return err
				}
			}
			var count atomic.Int64
			r, err := drive(cmd.Context(), runs, callers, 1, func(ctx context.Context) (caller, error) {
				c, err := dial(ctx, url)
				return &fillCaller{conn: c, bodies: bodies, count: &count}, err
			})
			if err != nil {
				return err
			}
			return report(r)
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "address of the service")
	cmd.Flags().IntVar(&runs, "runs", 1000, "how many")
	cmd.Flags().IntVar(&callers, "callers", 64, "at once")
	return cmd
}
