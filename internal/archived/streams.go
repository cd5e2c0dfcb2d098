package archived

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

const (
	maxIndex     = int64(1) << 52 // as in streaming
	sinkChunks   = 256            // that a reader gets at a time
	sinkBytes    = 1 << 20
	chunksLimit  = 100 // default of a page of chunks
	streamsBytes = 8 << 20
)

// Streams are streams whose runs may be in an archive. An archived stream has ended.
type Streams struct {
	world.StreamStore                // Redis
	Runs              world.RunStore // Redis
	Archive           world.Archive
}

var _ world.StreamStore = (*Streams)(nil)

// stream is a stream of an archived run.
type stream struct {
	world.StreamCopy
	runID string
}

// find returns a stream of an archived run, nil if the run is not in the archive. A run may be asked for a stream that it does not
// have: that is an empty one.
func (s *Streams) find(ctx context.Context, name string) (*stream, error) {
	runID := ids.StreamOwner(name)
	if runID == "" {
		found, err := s.Archive.FindStream(ctx, name)
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if runID = found; runID == "" {
			return nil, nil //nolint:nilnil // as documented
		}
	} else {
		runs, err := s.Archive.GetRuns(ctx, []string{runID}, true)
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if runs[0] == nil {
			return nil, nil //nolint:nilnil // as documented
		}
	}
	found := &stream{runID: runID, StreamCopy: world.StreamCopy{Name: name}}
	for part, err := range s.Archive.Parts(ctx, runID, world.ArchivedParts{Kind: world.PartChunks, Stream: name, From: maxIndex}) {
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if part.Stream != nil {
			found.StreamCopy = *part.Stream
		}
	}
	return found, nil
}

// view is what a reader that starts at an index sees: the chunks up to count, and where to go on after an end in between.
func (st *stream) view(from int64) (count, next int64) {
	for _, end := range st.Ends {
		if end >= from && end < st.Count {
			return end, end + 1
		}
	}
	return st.Count, 0
}

// lost reports whether Redis does not have the run of a stream.
func lost(err error) bool { return world.ErrorCode(err) == world.CodeRunNotFound }

// StreamInfo implements world.StreamStore.
func (s *Streams) StreamInfo(ctx context.Context, name string, from int64) (world.StreamInfo, error) {
	info, err := s.StreamStore.StreamInfo(ctx, name, from)
	if !lost(err) && !unknown(name, info, err) {
		return info, err
	}
	st, failed := s.find(ctx, name)
	if failed != nil {
		return info, failed
	}
	if st == nil {
		return info, err
	}
	count, next := st.view(from)
	return world.StreamInfo{TailIndex: count - 1, Done: true, Next: next, Count: st.Count}, nil
}

// ListChunks implements world.StreamStore.
func (s *Streams) ListChunks(ctx context.Context, name string, p world.PageRequest) (world.ChunkPage, error) {
	page, err := s.StreamStore.ListChunks(ctx, name, p)
	if !lost(err) && (err != nil || len(page.Data) > 0 || page.HasMore) {
		return page, err
	}
	st, failed := s.archived(ctx, name)
	if failed != nil {
		return page, failed
	}
	if st == nil {
		return page, err
	}
	limit := min(p.Limit, world.MaxPage)
	if limit <= 0 {
		limit = chunksLimit
	}
	from, bad := strconv.ParseInt(p.Cursor, 10, 64)
	if bad != nil || from < 0 || from >= maxIndex {
		from = 0
	}
	return s.chunkPage(ctx, st, from, limit)
}

func (s *Streams) chunkPage(ctx context.Context, st *stream, from int64, limit int) (world.ChunkPage, error) {
	count, next := st.view(from)
	out := world.ChunkPage{Done: true, Next: next}
	bytes := int64(0)
	for chunk, err := range s.chunks(ctx, st, from, count) {
		if err != nil {
			return world.ChunkPage{}, err
		}
		size := int64(len(chunk.Data))
		if len(out.Data) == limit || len(out.Data) > 0 && bytes+size > streamsBytes {
			break
		}
		if err := world.MakeRoom(ctx, size); err != nil {
			return world.ChunkPage{}, err
		}
		bytes += size
		out.Data = append(out.Data, world.Chunk{Index: chunk.Index, Data: slices.Clone(chunk.Data)})
	}
	if end := from + int64(len(out.Data)); end < count {
		out.HasMore, out.Cursor = true, strconv.FormatInt(end, 10)
	}
	return out, nil
}

// chunks yields the chunks from an index to before another.
func (s *Streams) chunks(ctx context.Context, st *stream, from, before int64) func(yield func(world.Chunk, error) bool) {
	return func(yield func(world.Chunk, error) bool) {
		if from >= before {
			return
		}
		for part, err := range s.Archive.Parts(ctx, st.runID, world.ArchivedParts{Kind: world.PartChunks, Stream: st.Name, From: from}) {
			if err != nil {
				yield(world.Chunk{}, unavailable(ctx, err))
				return
			}
			if part.Chunk != nil && (part.Chunk.Index >= before || !yield(*part.Chunk, nil)) {
				return
			}
		}
	}
}

// ReadStream implements world.StreamStore. An archived stream ends after its last chunk.
func (s *Streams) ReadStream(ctx context.Context, name string, start int64, sink world.ChunkSink) error {
	if mayBeOld(name) {
		st, err := s.archived(ctx, name)
		if err != nil {
			return err
		}
		if st != nil {
			return s.send(ctx, st, st.start(start), sink)
		}
	}
	sent := int64(0) // while the run is removed a read may have got some chunks
	err := s.StreamStore.ReadStream(ctx, name, start, func(chunks []world.Chunk) error {
		err := sink(chunks)
		if err == nil && len(chunks) > 0 {
			sent = chunks[len(chunks)-1].Index + 1
		}
		return err
	})
	if !lost(err) && (err != nil || sent > 0) {
		return err
	}
	st, failed := s.archived(ctx, name)
	if failed != nil {
		return failed
	}
	if st == nil {
		return err
	}
	return s.send(ctx, st, max(st.start(start), sent), sink)
}

// mayBeOld reports whether the run of a stream may have left Redis. A live read of such a stream would look for its run only after
// a while. The streams of new runs are read at once.
func mayBeOld(name string) bool {
	due, isRun := ids.RunIsDue(ids.StreamOwner(name), time.Now())
	return due || !isRun
}

// archived returns a stream that Redis does not have and the archive has; nil otherwise.
func (s *Streams) archived(ctx context.Context, name string) (*stream, error) {
	info, err := s.StreamStore.StreamInfo(ctx, name, 0)
	if !lost(err) && !unknown(name, info, err) {
		return nil, err
	}
	return s.find(ctx, name)
}

// unknown reports whether Redis may have lost a stream: for a while it keeps that a removed one has ended, and one whose name does
// not say what run it is of looks like one that nobody has written.
func unknown(name string, info world.StreamInfo, err error) bool {
	return err == nil && info.Count == 0 && (info.Done || ids.StreamOwner(name) == "")
}

// start is the first index that a reader gets. A negative one counts back from the end.
func (st *stream) start(from int64) int64 {
	if from < 0 {
		return max(0, st.Count+max(from, -maxIndex))
	}
	return from
}

// send sends the chunks from an index on to a reader.
func (s *Streams) send(ctx context.Context, st *stream, from int64, sink world.ChunkSink) error {
	count, _ := st.view(from)
	var batch []world.Chunk
	bytes := 0
	for chunk, err := range s.chunks(ctx, st, from, count) {
		if err != nil {
			return err
		}
		if len(batch) == sinkChunks || len(batch) > 0 && bytes+len(chunk.Data) > sinkBytes {
			if err := sink(batch); err != nil {
				return err
			}
			batch, bytes = nil, 0
		}
		bytes += len(chunk.Data)
		batch = append(batch, world.Chunk{Index: chunk.Index, Data: slices.Clone(chunk.Data)})
	}
	if len(batch) == 0 {
		return nil
	}
	return sink(batch)
}

// ListStreams implements world.StreamStore.
func (s *Streams) ListStreams(ctx context.Context, runID string, p world.PageRequest) (world.Page[string], error) {
	page, err := s.StreamStore.ListStreams(ctx, runID, p)
	if err == nil && len(page.Data) == 0 && world.ValidID(runID) { // of a new run that may not exist yet, the list is empty
		_, err = s.Runs.GetRun(ctx, runID, true)
		if !lost(err) {
			return page, err
		}
		err = nil
	} else if !lost(err) {
		return page, err
	}
	runs, failed := s.Archive.GetRuns(ctx, []string{runID}, true)
	if failed != nil {
		return page, unavailable(ctx, failed)
	}
	if runs[0] == nil {
		return page, err
	}
	from := int64(0)
	if p.Cursor != "" {
		var bad error
		if from, bad = strconv.ParseInt(p.Cursor, 10, 64); bad != nil || from < 0 || from >= maxIndex {
			return page, world.Errorf(world.CodeInvalid, "The cursor is not one of this list")
		}
	}
	return s.names(ctx, runID, from, p.Limit)
}

// names reads a page of the names of an archived run's streams.
func (s *Streams) names(ctx context.Context, runID string, from int64, limit int) (world.Page[string], error) {
	out := world.Page[string]{Data: []string{}}
	at, bytes := int64(-1), 0
	for part, err := range s.Archive.Parts(ctx, runID, world.ArchivedParts{Kind: world.PartStreams}) {
		if err != nil {
			return out, unavailable(ctx, err)
		}
		if at++; at < from {
			continue
		}
		name := part.Stream.Name
		if bytes += len(name); len(out.Data) > 0 && (len(out.Data) == limit || bytes > streamsBytes) {
			out.HasMore, out.Cursor = true, strconv.FormatInt(at, 10)
			return out, nil
		}
		if err := world.MakeRoom(ctx, int64(len(name))); err != nil {
			return out, err
		}
		out.Data = append(out.Data, name)
	}
	return out, nil
}

// AppendChunks implements world.StreamStore. An archived stream is closed.
func (s *Streams) AppendChunks(ctx context.Context, a world.Append) (int64, error) {
	first, err := s.StreamStore.AppendChunks(ctx, a)
	archived, err := s.closed(ctx, a.RunID, err)
	if archived {
		return 0, world.Errorf(world.CodeStreamClosed, "the stream %q is closed: its run has ended and is in the archive", a.Name)
	}
	return first, err
}

// CloseStream implements world.StreamStore. Closing a closed stream changes nothing.
func (s *Streams) CloseStream(ctx context.Context, c world.StreamClose) error {
	_, err := s.closed(ctx, c.RunID, s.StreamStore.CloseStream(ctx, c))
	return err
}

// closed reports whether Redis refused a write because its run is in the archive. The error is nil then.
func (s *Streams) closed(ctx context.Context, runID string, err error) (bool, error) {
	if !lost(err) || !world.ValidID(runID) {
		return false, err
	}
	runs, failed := s.Archive.GetRuns(ctx, []string{runID}, true)
	switch {
	case failed != nil:
		return false, unavailable(ctx, failed)
	case runs[0] == nil:
		return false, err
	default:
		return true, nil
	}
}
