// Command workflow-redis-setup checks the Redis of a world-redis service and says what is
// stored there; see `workflow-redis-setup --help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/setup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	redis.SetLogger(quiet{})
	cmd := setup.NewCommand(setup.Environment{Getenv: os.Getenv, Depths: depths})
	cmd.Use = "workflow-redis-setup"
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, "workflow-redis-setup:", err)
	}
	os.Exit(setup.ExitCode(err))
}

// quiet drops go-redis's own log: the command says once what is wrong.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
