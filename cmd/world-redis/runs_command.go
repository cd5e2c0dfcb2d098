package main

import "github.com/spf13/cobra"

// runsCommand is the family of commands about runs.
func runsCommand() *cobra.Command {
	s := &service{}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Act on the runs of a running service",
		Long: "Talks to a running service over HTTP (--url, --token). The token says which namespace is meant.\n\n" +
			"Exit code: 0 done, 1 refused, 2 no service answers.",
		Example: "  world-redis runs wake wrun_01J…     have a run look at its log and go on\n" +
			"  world-redis runs lost               starts and resumes that Redis lost",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s.flags(cmd)
	cmd.AddCommand(s.wakeCommand(), s.lostCommand())
	return cmd
}
