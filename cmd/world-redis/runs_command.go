package main

import "github.com/spf13/cobra"

// runsCommand returns the commands about runs.
func runsCommand() *cobra.Command {
	s := &service{}
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, show, cancel, wake and remove the runs of a running service",
		Long: "Talks to a running service over HTTP (--url, --token). The token selects the namespace.\n\n" +
			"Exit code: 0 done, 1 refused, 2 no service answers.",
		Example: "  world-redis runs ls --status failed     the newest runs that have failed\n" +
			"  world-redis runs show wrun_01J…     one run: its steps, hooks, streams and messages\n" +
			"  world-redis runs cancel wrun_01J…   cancel a run\n" +
			"  world-redis runs delete --older-than 30d --dry-run\n" +
			"  world-redis runs wake wrun_01J…     make a run read its log and continue\n" +
			"  world-redis runs delete wrun_01J…   remove a run that has ended\n" +
			"  world-redis runs lost               starts and resumes that Redis lost",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s.flags(cmd)
	cmd.AddCommand(s.listRunsCommand(), s.showRunCommand(), s.cancelCommand(), s.deleteCommand(), s.wakeCommand(), s.lostCommand())
	return cmd
}
