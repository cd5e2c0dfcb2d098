package world

import "context"

// Chunk is one write to a stream. Chunks are never merged or split: Index counts
// them densely from 0, and an empty chunk has an index like any other.
type Chunk struct {
	Index int64
	Data  []byte
}

// Append is one write call to a stream.
type Append struct {
	Name      string
	RunID     string // of the run that lists the stream; need not exist, need not be a ULID
	Chunks    [][]byte
	RequestID string // of this call; the same id again adds nothing
	WriterID  string // with Sequence: a writer's own numbering, deduplicated for the stream's life
	Sequence  int64  // of the first chunk, counted per writer
}

// StreamInfo is a stream's state (contract §6.2).
type StreamInfo struct {
	TailIndex int64 // -1 when empty
	Done      bool  // the end is recorded
}

// ChunkPage is a snapshot of stored chunks. Done tells whether the end is recorded,
// not whether this is the last page.
type ChunkPage struct {
	Page[Chunk]
	Done bool
}

// ChunkSink receives the chunks of a live read in order. They are the sink's until it returns,
// and not to be changed. A returned error ends the read.
type ChunkSink func(chunks []Chunk) error

// StreamStore writes and reads chunk streams.
type StreamStore interface {
	// AppendChunks stores the chunks as one unit and returns the index of the first. Their bytes
	// are the caller's again when it returns.
	// Appending to a closed stream is refused with CodeStreamClosed.
	AppendChunks(ctx context.Context, a Append) (first int64, err error)
	// CloseStream records the end; closing again changes nothing.
	CloseStream(ctx context.Context, name, runID string) error
	// ReadStream sends every chunk from start on (negative: that many before the present
	// end, clamped to 0; the default is 0), then waits for more until the end is recorded,
	// and only then returns nil. An unknown stream is an open, empty one.
	ReadStream(ctx context.Context, name string, start int64, sink ChunkSink) error
	// ListChunks returns a snapshot page; limit 0 is 100, the most is 1000.
	ListChunks(ctx context.Context, name string, p PageRequest) (ChunkPage, error)
	// StreamInfo returns the state; an unknown stream is open and empty.
	StreamInfo(ctx context.Context, name string) (StreamInfo, error)
	// ListStreams returns the names of a run's streams.
	ListStreams(ctx context.Context, runID string) ([]string, error)
	// PurgeRun takes every chunk of a run's streams away, for good: each is then an empty
	// stream that has ended, also one that is written later. Calling it again changes nothing.
	PurgeRun(ctx context.Context, runID string) error
}
