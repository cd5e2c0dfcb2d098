// Command bench-load is the part of the bench with the least overhead: the load on the HTTP API, the same scripts
// without HTTP, and the app that answers immediately. It prints its result as one line of JSON. See
// docs/performance.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "bench-load", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(eventsCommand(), directCommand(), fillCommand(), stubCommand(), streamsCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error: bench-load:", err)
		stop()
		os.Exit(1)
	}
}

// report prints a result.
func report(result any) error { return json.NewEncoder(os.Stdout).Encode(result) }
