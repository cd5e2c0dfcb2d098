package world

import "context"

// Chunk is one write to a stream. Chunks are never merged or split: Index counts
// them densely from 0, and an empty chunk has an index like any other.
type Chunk struct {
	Index int64
	Data  []byte
}

// StreamStep is a step, and its attempt, that a call to a stream may come from.
type StreamStep struct {
	ID      string
	Attempt int64
}

// Append is one write call to a stream.
type Append struct {
	Name      string
	RunID     string // of the run that lists the stream; need not exist, need not be a ULID
	Chunks    [][]byte
	RequestID string       // of this call; the same id again adds nothing
	WriterID  string       // with Sequence: a writer's own numbering, deduplicated for the stream's life
	Sequence  int64        // of the first chunk, counted per writer
	Steps     []StreamStep // that writes, or one of which does; only the step that closed a stream may write behind its end
}

// StreamClose is one call that closes a stream.
type StreamClose struct {
	Name      string
	RunID     string       // as of an [Append]
	RequestID string       // of this call; the same id again does not end what was written since
	Steps     []StreamStep // that closes, or one of which does
}

// StreamInfo is a stream's state (contract §6.2), as a reader finds it who starts at some index.
//
// A step that closed its stream and runs again writes behind that end. The end then keeps an
// index of its own. A reader that starts at or before it reads up to it.
type StreamInfo struct {
	TailIndex int64 // of the last chunk before the end that the reader comes to; -1 when empty
	Done      bool  // there is such an end, or the run has ended and the stream is quiet
	Next      int64 // index of what was written behind that end; 0: nothing was
	Count     int64 // of all chunks and the ends between them; what a negative start counts from
}

// ChunkPage is a snapshot of stored chunks. Done tells whether the stream has ended, not whether
// this is the last page; an end that nobody recorded is told with the last one. Next is that of a [StreamInfo].
type ChunkPage struct {
	Page[Chunk]
	Done bool
	Next int64
}

// ChunkSink receives the chunks of a live read in order. They are the sink's until it returns,
// and not to be changed. A returned error ends the read.
type ChunkSink func(chunks []Chunk) error

// StreamStore writes and reads chunk streams.
type StreamStore interface {
	// AppendChunks stores the chunks as one unit and returns the index of the first. Their bytes
	// are the caller's again when it returns.
	// Appending to a closed stream is refused with CodeStreamClosed, unless the step writes that
	// closed it.
	AppendChunks(ctx context.Context, a Append) (first int64, err error)
	// ExpectAppend announces an append whose chunks are still on their way. While it lasts, the
	// stream counts as being written. over must be called when the append has ended.
	ExpectAppend(name string) (over func())
	// CloseStream records the end; closing again changes nothing, and neither does an earlier
	// attempt of a step of which a later one writes.
	CloseStream(ctx context.Context, c StreamClose) error
	// ReadStream sends every chunk from start on (negative: that many before the present
	// end, clamped to 0; the default is 0), then waits for more until the stream ends, and only
	// then returns nil. A stream ends when it is closed, or when its run has ended and nothing
	// was written for a while. An unknown stream is an open, empty one; that of a run which does
	// not exist is CodeRunNotFound, here and below.
	ReadStream(ctx context.Context, name string, start int64, sink ChunkSink) error
	// ListChunks returns a snapshot page; limit 0 is 100, the most is 1000.
	ListChunks(ctx context.Context, name string, p PageRequest) (ChunkPage, error)
	// StreamInfo returns the state for a reader that starts at from; an unknown stream is open and empty.
	StreamInfo(ctx context.Context, name string, from int64) (StreamInfo, error)
	// ListStreams returns a page of the names of a run's streams; limit 0: as many as fit into a page. The cursor is empty unless
	// HasMore.
	ListStreams(ctx context.Context, runID string, p PageRequest) (Page[string], error)
	// ExpectPurge says that a run may keep nothing once it has ended. From then on each read of its streams asks whether it has: no
	// chunk is read after that, also before PurgeRun. It comes before the run is known to keep nothing, and may come again.
	ExpectPurge(ctx context.Context, runID string) error
	// PurgeRun takes every chunk of a run's streams away, for good: each is then an empty
	// stream that has ended, also one that is written later. Calling it again changes nothing.
	PurgeRun(ctx context.Context, runID string) error
}
