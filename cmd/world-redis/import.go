package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/migrate"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/recovery"
)

const (
	// importsAtOnce is how many runs are written at a time.
	importsAtOnce = 16
	// quietFor is how long another World must not be written before it is read.
	quietFor = 10 * time.Second
	// progressEvery is the time between two lines of progress.
	progressEvery = 2 * time.Second
	// refusedShown bounds the refused runs that are named.
	refusedShown = 1_000
)

type importOptions struct {
	namespace     string
	dryRun, force bool
	quiet         time.Duration
}

func importCommand() *cobra.Command {
	o := importOptions{quiet: quietFor}
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Take over runs from another World",
		Long: "Writes the runs of SOURCE into the Redis of WORKFLOW_REDIS_URL, under the prefixes and settings of the\n" +
			"service. SOURCE is a folder of @workflow/world-local (SDK 4 and 5).\n\n" +
			"Runs, steps and hooks keep their ids, times and values, and hooks keep their tokens. A run that has not\n" +
			"ended continues in an app of its deployment (WORKFLOW_DEPLOYMENT_ID): finished steps are not executed again, sleeps end at their time, hooks wait for their\n" +
			"payloads. Stop the app before the import, and start it with world-redis afterwards. The service may run.\n\n" +
			"An import may be interrupted and repeated: what is there already is left as it is. A source that is being\n" +
			"written is refused; it is watched for 10 seconds, and looked at again at the end.\n\n" +
			"Exit code: 0 all runs are there, 1 some are not; each of these is named with its reason.",
		Example: "  world-redis import .workflow-data --dry-run   count the runs, and read them all\n" +
			"  world-redis import .workflow-data             take them over",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFrom(cmd.Context(), args[0], o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.namespace, "namespace", "", "namespace to write to; default: the default one")
	f.BoolVar(&o.dryRun, "dry-run", false, "read and count all runs, and write nothing")
	f.BoolVar(&o.force, "force", false, "import although the source is being written")
	return cmd
}

func importFrom(ctx context.Context, from string, o importOptions, out, progress io.Writer) (err error) {
	source, err := openSource(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	count, err := source.Count(ctx)
	if err != nil {
		return err
	}
	r := &importReport{out: progress, total: count, began: time.Now()}
	if o.dryRun {
		if err := r.each(ctx, source.Runs(ctx), readOnly); err != nil {
			return err
		}
		return r.conclude(out, "would be imported")
	}
	before, err := awaitQuiet(ctx, source, o, progress)
	if err != nil {
		return err
	}
	target, closeTarget, err := openTarget(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	if err := r.each(ctx, source.Runs(ctx), target.take); err != nil {
		return err
	}
	after, err := source.State(ctx)
	if err == nil && after != before && !o.force {
		err = fmt.Errorf("%s was written during the import: stop the app, and repeat the import", from)
	}
	return errors.Join(r.conclude(out, "imported"), err)
}

// openSource opens what is to be imported.
func openSource(from string) (migrate.Source, error) {
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", from, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder of @workflow/world-local", from)
	}
	return migrate.OpenLocal(from)
}

// awaitQuiet refuses a source that is being written, and returns its state.
func awaitQuiet(ctx context.Context, source migrate.Source, o importOptions, progress io.Writer) (string, error) {
	before, err := source.State(ctx)
	if err != nil || o.force {
		return before, err
	}
	say(progress, "watching whether anything still writes there, for %s\n", o.quiet)
	if !pause.For(ctx, o.quiet) {
		return "", ctx.Err()
	}
	after, err := source.State(ctx)
	if err == nil && after != before {
		err = errors.New("the source is being written: stop the app first, or use --force, which may lose what is written meanwhile")
	}
	return after, err
}

// target is where runs are written.
type target struct {
	*tenant
	waker recovery.Waker
}

// openTarget connects to the Redis of the settings, as the service does, without serving.
func openTarget(ctx context.Context, o importOptions) (*target, func() error, error) {
	c, _, err := loadConfig(os.Environ())
	if err != nil {
		return nil, nil, err
	}
	if c.RedisURL == "" {
		return nil, nil, errors.New("WORKFLOW_REDIS_URL is not set: an import needs a Redis that stays")
	}
	logger := newLogger(os.Stderr, c)
	parts, err := openParts(ctx, c, logger)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range parts.tenants {
		if t.name == o.namespace {
			quiet := slog.New(slog.DiscardHandler)
			return &target{tenant: t, waker: recovery.Waker{Store: t.store, Queue: t.queue, Logger: quiet}}, func() error { return parts.close(t) }, nil
		}
	}
	return nil, nil, errors.Join(fmt.Errorf("there is no namespace %q (WORKFLOW_WORLD_NAMESPACES)", o.namespace), parts.close(nil))
}

// take writes one run.
func (t *target) take(ctx context.Context, c *world.RunCopy) (world.ImportedRun, error) {
	did, err := t.store.ImportRun(ctx, c, func(ctx context.Context) error { return t.streams.ImportStreams(ctx, c.Run.RunID, c.Parts) })
	if err != nil || c.Run.Status.Terminal() {
		return did, err
	}
	// A repeated import wakes the run once more, for the first may have ended before it did.
	_, err = t.waker.WakeRun(ctx, c.Run.RunID)
	if code := world.ErrorCode(err); code == world.CodeRunExpired {
		err = nil // it has ended since
	}
	return did, err
}

// readOnly reads all parts of a run.
func readOnly(_ context.Context, c *world.RunCopy) (world.ImportedRun, error) {
	for _, err := range c.Parts {
		if err != nil {
			return "", err
		}
	}
	return world.RunImported, nil
}

// importReport counts what becomes of the runs, and shows how far the import is.
type importReport struct {
	mu       sync.Mutex
	out      io.Writer
	total    int
	began    time.Time
	shown    time.Time
	statuses map[world.RunStatus]int
	open     map[string]int // runs that have not ended, by deployment
	before   int
	refused  []string
	failed   int
}

// each calls a function for each run, several at a time. Only what concerns all runs ends it.
func (r *importReport) each(ctx context.Context, runs iter.Seq2[*world.RunCopy, error], do func(context.Context, *world.RunCopy) (world.ImportedRun, error)) error {
	r.statuses, r.open = map[world.RunStatus]int{}, map[string]int{}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(importsAtOnce)
	for c, err := range runs {
		if inner.Err() != nil {
			break
		}
		if broken := new(world.CopyError); errors.As(err, &broken) {
			r.add(world.Run{}, "", &world.Error{Code: world.CodeInvalid, Message: err.Error()})
			continue
		}
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			did, err := do(inner, c)
			if code := world.ErrorCode(err); err != nil && code != world.CodeInvalid && code != world.CodeConflict && code != world.CodeTooLarge {
				if broken := new(world.CopyError); !errors.As(err, &broken) {
					return fmt.Errorf("run %s: %w", c.Run.RunID, err)
				}
			}
			r.add(c.Run, did, err)
			return nil
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

func (r *importReport) add(run world.Run, did world.ImportedRun, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.failed++
		if len(r.refused) < refusedShown {
			r.refused = append(r.refused, err.Error())
		}
	case did == world.RunImportedBefore:
		r.before++
	default:
		r.statuses[run.Status]++
	}
	if err == nil && !run.Status.Terminal() {
		r.open[run.DeploymentID]++
	}
	if now := time.Now(); now.Sub(r.shown) >= progressEvery {
		r.shown = now
		r.show(now)
	}
}

func (r *importReport) done() (n int) {
	for _, count := range r.statuses {
		n += count
	}
	return n
}

func (r *importReport) show(now time.Time) {
	n := r.done() + r.before + r.failed
	rate := float64(n) / max(now.Sub(r.began).Seconds(), 0.001)
	left := time.Duration(float64(max(r.total-n, 0)) / max(rate, 0.001) * float64(time.Second)).Round(time.Second)
	say(r.out, "%d of %d runs, %.0f a second, about %s left\n", n, r.total, rate, left)
}

// conclude prints the result, and returns an error if some runs were not taken.
func (r *importReport) conclude(out io.Writer, done string) error {
	var parts []string
	for _, status := range []world.RunStatus{world.RunPending, world.RunRunning, world.RunPaused, world.RunCompleted, world.RunFailed, world.RunCancelled} {
		if n := r.statuses[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	line := fmt.Sprintf("%d runs %s", r.done(), done)
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	if r.before > 0 {
		line += fmt.Sprintf("; %d were there already", r.before)
	}
	say(out, "%s\n", line)
	for _, deployment := range slices.Sorted(maps.Keys(r.open)) {
		say(out, "%d runs continue in an app with WORKFLOW_DEPLOYMENT_ID=%s, or in any with WORKFLOW_WORLD_DEPLOYMENT_POLICY=latest of the service\n", r.open[deployment], deployment)
	}
	for _, reason := range r.refused {
		say(out, "not taken: %s\n", reason)
	}
	if r.failed > 0 {
		return fmt.Errorf("%d of %d runs were not taken", r.failed, r.total)
	}
	return nil
}
