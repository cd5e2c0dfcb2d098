package world

// Limits that more than one part keeps. Those of the calls that take many runs are in run.go.
const (
	MaxToken      = 4096      // bytes of a hook's token
	MaxStreamName = 1024      // bytes
	MaxPage       = 1000      // entries of a page; a larger limit is taken as this one
	MaxBatch      = 256       // events of a batch. Its script makes seven calls of Redis for each at most; the SDK sends at most 32
	MaxPosition   = 1<<31 - 1 // of an event in its log
)
