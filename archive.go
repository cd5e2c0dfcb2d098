package world

import (
	"context"
	"errors"
	"iter"
)

// ErrArchiveCannotList is returned by ListRuns of an archive that cannot select by name or status.
var ErrArchiveCannotList = errors.New("this archive cannot list runs by name or status: with WORKFLOW_WORLD_ARCHIVE=postgres://… it can")

// Archive keeps runs that have left Redis. All methods are safe for concurrent use. A run that is not there is no error.
type Archive interface {
	// PutRuns stores copies of runs that have ended. When it returns nil, all of them are safe: a crash of the archive loses none.
	// A copy that is there already is replaced as a whole. A run that cannot be read is a CopyError, and nothing is safe then; the
	// caller tries again without it.
	PutRuns(ctx context.Context, copies []*RunCopy) error
	// DeleteRuns removes runs permanently.
	DeleteRuns(ctx context.Context, runIDs []string) error

	// GetRuns returns runs in the order of their ids, nil where there is none. With resolveNone, input and output are left out.
	GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*Run, error)
	// ListRuns returns a page of runs, ordered by the time in their ids and then by id.
	ListRuns(ctx context.Context, q ArchivedRuns) (runs []Run, more bool, err error)
	// Parts yields parts of a run, in the order of RunPart.
	Parts(ctx context.Context, runID string, want ArchivedParts) iter.Seq2[RunPart, error]
	// FindStep and FindStream return the id of the run that has a step or a stream; "" if there is none, or if this archive cannot
	// look it up.
	FindStep(ctx context.Context, stepID string) (runID string, err error)
	FindStream(ctx context.Context, name string) (runID string, err error)

	// Check returns an error if the archive cannot be read and written. It says in a sentence what to do.
	Check(ctx context.Context) error
	Close() error
}

// ArchivedRuns selects archived runs; zero fields do not filter.
type ArchivedRuns struct {
	WorkflowName string
	Statuses     []RunStatus
	After        *ArchivePlace // nil: from the beginning
	Order        Order         // Ascending or Descending
	Limit        int
	ResolveNone  bool
}

// ArchivePlace is a place in the list of runs: the time in a run's id (createdAt for an id without one), and the id.
type ArchivePlace struct {
	MS    Millis
	RunID string
}

// ArchivedParts says which parts of a run to read.
type ArchivedParts struct {
	Kind   PartKind
	From   int64  // first position of events, or first index of chunks; with Backwards the last
	Stream string // the name, for PartChunks; its StreamCopy is yielded first
	// Backwards yields events or steps in the opposite order.
	Backwards   bool
	ResolveNone bool
}

// PartKind is a kind of parts.
type PartKind string

// The kinds of parts of an archived run.
const (
	PartEvents  PartKind = "events"
	PartSteps   PartKind = "steps"
	PartStreams PartKind = "streams" // without their chunks
	PartChunks  PartKind = "chunks"  // of one stream
	PartAll     PartKind = "all"
)
