package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func envCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print every setting with its value, default and meaning",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if _, err := fmt.Fprintln(w, "VARIABLE\tVALUE\tDEFAULT\tMEANING"); err != nil {
				return err
			}
			for _, s := range settings() {
				value, set := os.LookupEnv(s.Name)
				if set {
					value = shown(s.Name, value)
				}
				if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, dash(value), dash(s.Default), s.Help); err != nil {
					return err
				}
			}
			if err := w.Flush(); err != nil {
				return err
			}
			_, unknown, err := loadConfig(os.Environ())
			slices.Sort(unknown)
			for _, name := range unknown {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\n%s is set but is not a setting of world-redis: misspelt?\n", name); err != nil {
					return err
				}
			}
			return err
		},
	}
}

// shown returns the value of a setting for display, without secrets.
func shown(name, value string) string {
	if secret(name) {
		return "(set, hidden)"
	}
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return u.Redacted()
	} else if err != nil && strings.Contains(value, "@") {
		return "(set, hidden: it is not a valid URL and may contain a password)"
	}
	return value
}

func secret(name string) bool {
	return strings.Contains(name, "TOKEN") || strings.HasSuffix(name, "NAMESPACES") || strings.Contains(name, "SIGNING_KEY") || strings.HasSuffix(name, "REDIS_URL")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
