// Command workflow-redis-setup checks the Redis of a world-redis service and reports what it stores there; see
// `workflow-redis-setup --help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/world-redis/world-redis/cmd/internal/setupcmd"
	"github.com/world-redis/world-redis/setup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := setupcmd.New("workflow-redis-setup").ExecuteContext(ctx)
	stop()
	if err != nil && err.Error() != "" {
		fmt.Fprintln(os.Stderr, "workflow-redis-setup:", err)
	}
	os.Exit(setup.ExitCode(err))
}
