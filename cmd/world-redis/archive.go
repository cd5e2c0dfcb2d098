package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive"
)

// openArchive opens the archive, if there is one. An address that cannot be understood is an error. An archive that cannot be reached is
// a warning: deliveries do not need it, and runs stay in Redis until it answers.
func (t *tenant) openArchive(ctx context.Context, c config) error {
	if c.Archive == "" {
		return nil
	}
	a, err := archive.Open(ctx, c.Archive, archive.Options{Namespace: t.keyPrefix, Service: version, Logger: t.log})
	if err != nil {
		return fmt.Errorf("WORKFLOW_WORLD_ARCHIVE: %w", err)
	}
	if err := a.Check(ctx); err != nil {
		t.log.WarnContext(ctx, "the archive cannot be used (WORKFLOW_WORLD_ARCHIVE); runs that have ended stay in Redis until it can", slog.Any("error", err))
	}
	t.archive = a
	t.keeper = &archive.Keeper{Archive: a, Copies: t.copies(c), Logger: t.log}
	return nil
}

// copies reads whole runs, with their streams if they are archived.
func (t *tenant) copies(c config) world.RunCopier {
	w := archive.WithStreams{Runs: copierOf{t}}
	if c.ArchiveStreams == "on" {
		w.CopyStreams = t.streams.CopyStreams
	}
	return w
}

// copierOf copies runs from the store of a tenant, which is made after its archive.
type copierOf struct{ tenant *tenant }

func (c copierOf) CopyRuns(ctx context.Context, runIDs []string) ([]*world.RunCopy, error) {
	return c.tenant.store.CopyRuns(ctx, runIDs)
}

// keep is what the store calls with runs that are to leave Redis; nil without an archive.
func (t *tenant) keep() func(context.Context, []string) ([]string, error) {
	if t.keeper == nil {
		return nil
	}
	return t.keeper.Keep
}

// archiveAfter is how long after its end a run leaves Redis for the archive; 0 without an archive.
func (t *tenant) archiveAfter(c config) time.Duration {
	if t.archive == nil {
		return 0
	}
	return c.ArchiveAfter
}

// closeArchive ends the use of the archive.
func (t *tenant) closeArchive() error {
	if t.archive == nil {
		return nil
	}
	return t.archive.Close()
}
