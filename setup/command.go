package setup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/replicated"
)

// Environment is what the command needs from its program.
type Environment struct {
	Getenv func(name string) string // os.Getenv
	// Replicas reads which replicas are alive; nil if that is unknown.
	Replicas func(ctx context.Context, conn *redisconn.Conn, keyPrefix, jobPrefix string) ([]Replica, error)
	// Depths reads the depths of the two queues; nil shows them as unknown.
	Depths func(ctx context.Context, conn *redisconn.Conn, keyPrefix, jobPrefix string) ([]QueueDepth, error)
}

// The exit codes of the command.
const (
	exitUnhealthy   = 1 // a check failed, or a flush was refused
	exitUnreachable = 2
)

// exitError is an error with an exit code. Its text is empty if the report says everything.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// ExitCode returns the exit code for the command's error: 0 if all is well or there are only warnings, 1 if a check
// failed or the request could not be carried out, 2 if Redis cannot be reached. An error with an empty text need not
// be printed.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitUnhealthy
}

// NewCommand returns the command, named setup.
func NewCommand(environment Environment) *cobra.Command {
	getenv := environment.Getenv
	var address string
	o := Options{Production: getenv("WORKFLOW_WORLD_ENV") == "production", Retention: getenv("WORKFLOW_WORLD_RETENTION") != ""}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Check Redis, count the stored data, delete it",
		Long: "Checks the Redis that the service uses (or would use) and says what to change: version, mode,\n" +
			"persistence, eviction policy; counts the stored keys by kind and the messages in the queues.\n" +
			"With --flush it deletes the data under the key prefix and the two queues, and nothing else.\n\n" +
			"Exit code: 0 no check failed (there may be warnings), 1 a check failed or the flush was not done,\n" +
			"2 Redis cannot be reached.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.In, o.Out, o.Err = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			o.Interactive = isTerminal(o.In)
			o.Color = isTerminal(o.Out) && getenv("NO_COLOR") == ""
			return execute(cmd.Context(), address, o, environment)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "redis", "", "address of the Redis (default $WORKFLOW_REDIS_URL, then $REDIS_URL)")
	flags.StringVar(&o.Prefix, "prefix", orDefault(getenv("WORKFLOW_REDIS_KEY_PREFIX"), "workflow:"), "prefix of every key ($WORKFLOW_REDIS_KEY_PREFIX)")
	flags.StringVar(&o.JobPrefix, "job-prefix", orDefault(getenv("WORKFLOW_REDIS_JOB_PREFIX"), "workflow_"), "prefix of the queues' names ($WORKFLOW_REDIS_JOB_PREFIX)")
	flags.BoolVar(&o.JSON, "json", false, "print JSON")
	flags.BoolVar(&o.Flush, "flush", false, "delete the data under the prefix, after confirmation")
	flags.BoolVar(&o.Yes, "yes", false, "with --flush: do not ask for confirmation")
	return cmd
}

func execute(ctx context.Context, address string, o Options, environment Environment) error {
	if address == "" {
		address = orDefault(environment.Getenv("WORKFLOW_REDIS_URL"), environment.Getenv("REDIS_URL"))
	}
	if address == "" {
		return withoutRedis(o)
	}
	conn, err := redisconn.Open(ctx, address)
	if err != nil {
		return unreachable(o, err)
	}
	o.Conn = conn
	var durability replicated.Durability
	if text := environment.Getenv("WORKFLOW_WORLD_DURABILITY"); text != "" {
		err = durability.UnmarshalText([]byte(text))
	}
	if err = errors.Join(err, conn.Confirm(durability, o.Prefix+"replicated:")); err != nil {
		return errors.Join(fmt.Errorf("WORKFLOW_WORLD_DURABILITY: %w", err), conn.Close())
	}
	if environment.Depths != nil {
		o.Depths = func(ctx context.Context) ([]QueueDepth, error) {
			return environment.Depths(ctx, conn, o.Prefix, o.JobPrefix)
		}
	}
	if environment.Replicas != nil {
		o.Replicas = func(ctx context.Context) ([]Replica, error) {
			return environment.Replicas(ctx, conn, o.Prefix, o.JobPrefix)
		}
	}
	report, err := Run(ctx, o)
	if err != nil && ctx.Err() == nil && conn.Client.Ping(ctx).Err() != nil {
		err = &exitError{exitUnreachable, err.Error()} // Redis became unavailable in between
	}
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
		return err
	case report.Verdict == Fail:
		return &exitError{code: exitUnhealthy}
	}
	return nil
}

// unreachable reports that Redis cannot be reached, as a sentence or as a report.
func unreachable(o Options, cause error) error {
	if !o.JSON {
		return &exitError{exitUnreachable, cause.Error()}
	}
	r := Report{Prefix: o.Prefix, JobPrefix: o.JobPrefix, Keys: []KeyCount{}}
	r.add(Check{
		Name: "connection", Verdict: Fail, Message: cause.Error(),
		Advice: "Check the address, the password and whether Redis runs.",
	})
	if err := printJSON(o.Out, r); err != nil {
		return err
	}
	return &exitError{code: exitUnreachable}
}

// withoutRedis answers if no address is set. The service would then use an embedded Redis, which this command cannot
// reach.
func withoutRedis(o Options) error {
	check := Check{
		Name: "connection", Verdict: Warn,
		Message: "no Redis is configured: the service uses an embedded one, which loses its data on exit",
		Advice:  "Set WORKFLOW_REDIS_URL (or give --redis) to check a Redis.",
	}
	if o.Production {
		check.Verdict = Fail
	}
	if o.Flush {
		return &exitError{exitUnhealthy, "nothing was deleted: " + check.Message}
	}
	c := call{options: o, report: Report{
		Mode: string(redisconn.Embedded), Prefix: o.Prefix, JobPrefix: o.JobPrefix, Verdict: OK, Keys: []KeyCount{},
	}}
	c.report.add(check)
	var err error
	if o.JSON {
		err = c.print()
	} else {
		_, err = fmt.Fprintf(o.Out, "%s. %s\n", check.Message, check.Advice)
	}
	if err == nil && check.Verdict == Fail {
		err = &exitError{code: exitUnhealthy}
	}
	return err
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
