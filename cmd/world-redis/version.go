package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in a release build.
var version = "dev"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and how it was built",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			commit, goVersion := "", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				goVersion = info.GoVersion
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						commit = " " + s.Value
					}
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "world-redis %s%s %s\n", version, commit, goVersion)
			return err
		},
	}
}
