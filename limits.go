package world

import "time"

// Limits that several parts enforce. The limits of calls on many runs are in run.go.
const (
	MaxToken      = 4096      // bytes of a hook's token
	MaxStreamName = 1024      // bytes
	MaxPage       = 1000      // entries of a page; a larger limit is reduced to this one
	MaxBatch      = 256       // events of a batch. Its script makes at most seven Redis calls for each; the SDK sends at most 32
	MaxPosition   = 1<<31 - 1 // of an event in its log
)

// MaxDelay is the longest delay of a message: a hundred years. It fits into a time.Duration, and its due time into every number
// format that it is stored in. A longer one counts as this. The API accepts ten years from a caller.
const MaxDelay = 100 * 366 * 24 * time.Hour

// Limits of a run's attributes (docs/contract.md §3.5).
const (
	MaxAttributes     = 64
	MaxAttributeKey   = 256   // UTF-16 units, as JavaScript counts
	MaxAttributeValue = 256   // UTF-8 bytes
	MaxAttributeData  = 8_192 // bytes of an attr_set's eventData as JSON
)
