package world

import "context"

// Chunk is one write to a stream. Chunks are never merged or split: Index counts
// them densely from 0, and an empty chunk has an index like any other.
type Chunk struct {
	Index int64
	Data  []byte
}

// StreamStep is a step and its attempt, which may be the source of a call to a stream.
type StreamStep struct {
	ID      string
	Attempt int64
}

// Append is one write call to a stream.
type Append struct {
	Name      string
	RunID     string // the run whose list has the stream; it may not exist and need not be a ULID
	Chunks    [][]byte
	RequestID string       // of this call; a repeat with the same id adds nothing
	WriterID  string       // with Sequence: the writer's own numbering, deduplicated for the life of the stream
	Sequence  int64        // of the first chunk, counted per writer from 0
	Steps     []StreamStep // the steps of which one is writing; only the step that closed a stream may write after its end
}

// StreamClose is one call that closes a stream.
type StreamClose struct {
	Name      string
	RunID     string       // as of an [Append]
	RequestID string       // of this call; a repeat with the same id does not close the stream again after later writes
	Steps     []StreamStep // the steps of which one is closing
}

// StreamInfo is the state of a stream (contract §6.2) for a reader that starts at a given index.
//
// If a step that closed its stream runs again, it writes after that end. The end then keeps its own index, and a
// reader that starts at or before it reads up to it.
type StreamInfo struct {
	TailIndex int64 // of the last chunk before the end that applies to the reader; -1 if there is none
	Done      bool  // that end is recorded, or the run has ended and the stream is quiet
	Next      int64 // index of the first chunk after that end; 0 if there is none
	Count     int64 // of all chunks and of the ends between them; a negative start counts back from here
}

// ChunkPage is a snapshot of stored chunks. Done says whether the stream has ended, not whether this is the last
// page. An end that is not recorded appears only on the last page. Next is as in [StreamInfo].
type ChunkPage struct {
	Page[Chunk]
	Done bool
	Next int64
}

// ChunkSink receives the chunks of a live read in order. They are valid until it returns, and it must not change
// them. If it returns an error, the read ends.
type ChunkSink func(chunks []Chunk) error

// StreamStore writes and reads chunk streams.
type StreamStore interface {
	// AppendChunks stores the chunks as one unit and returns the index of the first. The caller may reuse their
	// memory afterwards. An append to a closed stream is refused with CodeStreamClosed, unless it comes from the step
	// that closed it.
	AppendChunks(ctx context.Context, a Append) (first int64, err error)
	// ExpectAppend announces an append whose chunks have not arrived yet. Until over is called, the stream counts as
	// being written. over must be called when the append has ended.
	ExpectAppend(name string) (over func())
	// CloseStream records the end. Closing a closed stream changes nothing, and so does closing by an earlier attempt
	// of a step if a later attempt writes.
	CloseStream(ctx context.Context, c StreamClose) error
	// ReadStream sends every chunk from start on, then waits for more, and returns nil when the stream ends. A
	// negative start counts back from the current end and stops at 0. A stream ends when it is closed, or when its
	// run has ended and nothing was written for a while. An unknown stream is open and empty. For a stream whose run
	// does not exist, this method and those below return CodeRunNotFound.
	ReadStream(ctx context.Context, name string, start int64, sink ChunkSink) error
	// ListChunks returns a snapshot page of at most 1000 chunks; limit 0 means 100.
	ListChunks(ctx context.Context, name string, p PageRequest) (ChunkPage, error)
	// StreamInfo returns the state for a reader that starts at from; an unknown stream is open and empty.
	StreamInfo(ctx context.Context, name string, from int64) (StreamInfo, error)
	// ListStreams returns a page of the names of a run's streams. Limit 0 means as many as fit into a page. The
	// cursor is empty unless HasMore is set.
	ListStreams(ctx context.Context, runID string, p PageRequest) (Page[string], error)
	// ExpectPurge announces that a run may keep nothing once it has ended. From then on, each read of its streams
	// checks whether the run has ended, and returns no chunk after that, even before PurgeRun. It is called before
	// the run is marked as keeping nothing, and may be called again.
	ExpectPurge(ctx context.Context, runID string) error
	// PurgeRun removes every chunk of a run's streams for good. Each of them is then an empty stream that has ended,
	// even if it is written later. Calling it again changes nothing.
	PurgeRun(ctx context.Context, runID string) error
}
