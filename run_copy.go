package world

import (
	"context"
	"fmt"
	"iter"
)

// RunCopy is a copy of a run with all that belongs to it, as of one moment.
type RunCopy struct {
	// Run is the run with its values. A run that keeps nothing after its end has none.
	Run Run
	// Events is how many events the log has.
	Events int64
	// Foreign says that another World wrote the log, by rules of its own. An import leaves out the events that the rules here
	// refuse, such as a second end of the run, and takes the state of the run from the rest.
	Foreign bool
	// Parts yields the rest of the copy in the order of the fields of RunPart. It reads as it is iterated, so that a large
	// run is never in memory as a whole. An error ends it, and is a CopyError. It may be iterated again.
	Parts iter.Seq2[RunPart, error]
}

// RunPart is one part of the copy of a run. Exactly one field is set.
type RunPart struct {
	Event  *Event      // in the order of the log
	Step   *Step       // oldest first
	Hook   *HookCopy   // of a run that has not ended, or that keeps its token
	Stream *StreamCopy // before its chunks
	Chunk  *Chunk      // of the last Stream, in the order of their indexes
}

// HookCopy is a hook in the copy of a run.
type HookCopy struct {
	Hook
	Position int64 // of its hook_created in the log; -1 if it has none (a hook of the legacy calls)
}

// StreamCopy is a stream in the copy of a run, without its chunks.
type StreamCopy struct {
	Name  string
	Count int64   // of all chunks and of the ends between them
	Ends  []int64 // indexes of the recorded ends, ascending. They have no chunks. The last is Count if the stream was closed
}

// CopyError means that a run could not be read. It says nothing of other runs in the same call. Whatever reads a copy returns it,
// perhaps wrapped.
type CopyError struct {
	RunID string
	Err   error
}

func (e *CopyError) Error() string { return fmt.Sprintf("run %s cannot be copied: %v", e.RunID, e.Err) }

func (e *CopyError) Unwrap() error { return e.Err }

// RunCopier reads whole runs.
type RunCopier interface {
	// CopyRuns returns copies in the order of the ids, nil where there is no such run. At most MaxGetRuns ids. Small runs are
	// read at once, large ones while their parts are iterated. If the copies would take too much memory, those at the end are
	// left out, and the caller requests them again. There is at least one.
	CopyRuns(ctx context.Context, runIDs []string) ([]*RunCopy, error)
}
