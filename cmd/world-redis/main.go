// Command world-redis is the service: a World for the Workflow SDK on Redis.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis/cmd/internal/setupcmd"
	"github.com/world-redis/world-redis/cmd/internal/streamcmd"
	"github.com/world-redis/world-redis/setup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "world-redis",
		Short: "A World for the Workflow SDK on Redis",
		Long: "world-redis keeps the runs, steps, events, hooks, queue and streams of Workflow SDK apps in Redis\n" +
			"and delivers work to them over HTTP. Start it with `world-redis serve`; every setting is an\n" +
			"environment variable, listed by `world-redis env`.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serveCommand(), devCommand(), healthCommand(), queueCommand(), runsCommand(), streamcmd.New(os.Getenv), importCommand(), clientCommand(), envCommand(), versionCommand(), setupcmd.New("setup"))
	return root
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "world-redis:", text)
	}
	var ended *exitError
	if errors.As(err, &ended) {
		return ended.code
	}
	var away *awayError
	if errors.As(err, &away) {
		return exitAway
	}
	return setup.ExitCode(err)
}
