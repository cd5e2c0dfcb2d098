package main

import (
	_ "embed"

	"github.com/spf13/cobra"
)

// The client that belongs to this service: client/dist/index.js, which npm publishes as @world-redis/client. It is
// committed, so that a build of the service needs no Node; `make client-file` writes it, and a test of the client
// compares the two.
//
//go:embed world-redis.cjs
var clientFile []byte

func clientCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "client",
		Short: "Print the client for apps as one file",
		Long: "Prints the client for apps, which is one file and needs no package:\n\n" +
			"  world-redis client > world-redis.cjs\n\n" +
			"Give it to an app by its absolute path: WORKFLOW_TARGET_WORLD=/path/to/world-redis.cjs",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(clientFile)
			return err
		},
	}
}
