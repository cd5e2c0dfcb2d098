package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redis/go-redis/v9"
)

// flush deletes the installation's keys after confirmation. It deletes each key with its own command, in pipelines: a
// cluster accepts no command on keys of several slots.
func (c *call) flush(ctx context.Context, nodes []*node) error {
	if err := c.confirm(ctx); err != nil {
		return err
	}
	client := c.options.Conn.Client
	step := int64(deletedStep)
	if c.options.Interactive {
		step = 1
	}
	deleted, progress := int64(0), newProgress(c.options, "deleted", step)
	err := c.scope.walk(ctx, nodes, func(keys []string) error {
		var results []*redis.IntCmd
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys {
				if _, own := c.scope.kindOf(key); own {
					results = append(results, pipe.Unlink(ctx, key))
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("UNLINK: %w", err)
		}
		for _, r := range results {
			deleted += r.Val()
		}
		return progress.show(deleted, c.report.TotalKeys)
	}, func(int64, int64) error { return nil })
	if err == nil {
		err = client.SRem(ctx, "asynq:queues", queueNames(c.options.JobPrefix)).Err()
	}
	c.report.Flushed = &Flushed{Deleted: deleted}
	if err != nil {
		return fmt.Errorf("%d keys were deleted, then: %w", deleted, err)
	}
	return progress.end()
}

// confirm asks the user to type the prefix.
func (c *call) confirm(ctx context.Context) error {
	o := c.options
	if o.Yes {
		return nil
	}
	if !o.Interactive {
		return errors.New("nothing was deleted: there is no terminal to ask for confirmation, so --flush needs --yes here")
	}
	_, err := fmt.Fprintf(o.Err, "\nThis deletes %d keys under %q and the queues %s at %s permanently.\nStop every replica of the service first. Type the prefix to continue: ",
		c.report.TotalKeys, o.Prefix, strings.Join(queueNames(o.JobPrefix), " and "), c.report.Address)
	if err != nil {
		return err
	}
	typed := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(o.In).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			line = ""
		}
		typed <- strings.TrimRight(line, "\r\n")
	}()
	select {
	case text := <-typed:
		if text != o.Prefix {
			return errors.New("nothing was deleted: that is not the prefix")
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nothing was deleted: %w", ctx.Err())
	}
}
