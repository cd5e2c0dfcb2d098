package world

import "context"

// ImportedRun says what an import has done with a run.
type ImportedRun string

// The outcomes of an import that is not refused.
const (
	RunImported       ImportedRun = "imported"
	RunImportedBefore ImportedRun = "imported_before" // the run is there, with all events of the copy
)

// RunImporter writes copies of runs.
type RunImporter interface {
	// ImportRun writes a run with the ids, times, order and bytes of its copy. No list shows it and nothing executes it before it
	// is complete. The run's streams are not written: streams is called before the run appears in the lists, and may be called
	// again. An import that was interrupted may be repeated, and continues.
	//
	// It returns CodeConflict if another run has the id, if the run was removed here, or if a token of one of its live hooks
	// belongs to another run; CodeInvalid if the copy contradicts itself.
	ImportRun(ctx context.Context, c *RunCopy, streams func(context.Context) error) (ImportedRun, error)
}
