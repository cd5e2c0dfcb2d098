package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
)

// directCaller sends what the service would send to Redis, without HTTP and the service.
type directCaller struct {
	pipe  *redis.AutoPipeliner
	runID string // the run whose calls were recorded
	calls [][][]any
}

func (c *directCaller) event(ctx context.Context, runID string, n int) error {
	var last redis.Cmder
	for _, args := range forRun(c.calls[n], c.runID, runID) {
		last = redis.NewCmd(ctx, args...)
		if err := c.pipe.Process(ctx, last); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return last.Err()
}

func directCommand() *cobra.Command {
	var url string
	var runs, callers, size int
	cmd := &cobra.Command{
		Use:   "direct",
		Short: "write the same runs straight to Redis, the same scripts through go-redis AutoPipeline",
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := redis.ParseURL(url)
			if err != nil {
				return err
			}
			runID := newRunID()
			recording := redis.NewClient(options)
			calls, err := record(cmd.Context(), recording, runID, size)
			_ = recording.Close()
			if err != nil {
				return err
			}
			client := redis.NewClient(options)
			defer func() { _ = client.Close() }()
			pipe, err := client.AutoPipeline()
			if err != nil {
				return err
			}
			r, err := drive(cmd.Context(), runs, callers, len(calls), func(context.Context) (caller, error) {
				return &directCaller{pipe: pipe, runID: runID, calls: calls}, nil
			})
			if err != nil {
				return err
			}
			return report(r)
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "address of Redis")
	cmd.Flags().IntVar(&runs, "runs", 1000, "how many")
	cmd.Flags().IntVar(&callers, "callers", 256, "at once")
	cmd.Flags().IntVar(&size, "size", 300, "bytes of each of the four payloads")
	return cmd
}
