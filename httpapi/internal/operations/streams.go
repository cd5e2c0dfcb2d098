package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

func decodeClose(r *input.Request) (world.StreamClose, error) {
	end := world.StreamClose{RequestID: r.ID, RunID: r.PathID("runId"), Name: r.PathText("name", world.MaxStreamName), Steps: readSteps(r)}
	return end, r.Err
}

func (a *API) closeStream(ctx context.Context, end world.StreamClose) (nothing, error) {
	return nothing{}, a.Deps.Streams.CloseStream(ctx, end)
}

// streamNames is a list of a run's streams. paged says that the caller handles an answer with only some of them.
type streamNames struct {
	runID string
	page  world.PageRequest
	paged bool
	names world.Page[string]
}

func decodeStreams(r *input.Request) (streamNames, error) {
	want := streamNames{runID: r.PathID("runId"), page: r.Page()}
	r.ResolveNone() // which every list has
	want.paged = r.Query().Has("limit") || r.Query().Has("cursor")
	return want, r.Err
}

func (a *API) listStreams(ctx context.Context, want streamNames) (list streamNames, err error) {
	list = want
	if list.names, err = a.Deps.Streams.ListStreams(ctx, want.runID, want.page); err != nil {
		return list, err
	}
	if list.names.HasMore && !list.paged {
		// A caller that does not read hasMore would miss the other streams.
		return list, world.Errorf(world.CodeTooLarge, "the run has more streams than one answer has room for: ask with a limit, and then with the cursor")
	}
	return list, nil
}

func encodeStreams(e *wire.Encoder, list streamNames) {
	e.Grow(64 + 64*len(list.names.Data))
	o := e.Object()
	encodeData(e, &o, list.names.Data, func(e *wire.Encoder, name *string) { e.Text(*name) })
	if list.paged {
		o.Cursor(list.names.Cursor)
		o.Flag("hasMore", list.names.HasMore)
	}
	o.End()
}

func decodeStreamName(r *input.Request) (string, error) {
	name := r.PathText("name", world.MaxStreamName)
	return name, r.Err
}

func (a *API) streamInfo(ctx context.Context, name string) (world.StreamInfo, error) {
	return a.Deps.Streams.StreamInfo(ctx, name, 0)
}

func encodeStreamInfo(e *wire.Encoder, info world.StreamInfo) {
	o := e.Object()
	o.Whole("tailIndex", info.TailIndex)
	o.Flag("done", info.Done)
	writeNext(&o, info.Next)
	o.End()
}

// chunkQuery asks for a page of a stream's chunks.
type chunkQuery struct {
	name string
	page world.PageRequest
}

func decodeChunks(r *input.Request) (chunkQuery, error) {
	want := chunkQuery{name: r.PathText("name", world.MaxStreamName), page: r.Page()}
	return want, r.Err
}

func (a *API) listChunks(ctx context.Context, want chunkQuery) (world.ChunkPage, error) {
	return a.Deps.Streams.ListChunks(ctx, want.name, want.page)
}

func encodeChunks(e *wire.Encoder, page world.ChunkPage) {
	e.Grow(64 + wire.Sizes(page.Data, func(k *world.Chunk) int { return len(k.Data) + 32 }))
	o := e.Object()
	encodeData(e, &o, page.Data, writeChunk)
	o.Cursor(page.Cursor)
	o.Flag("hasMore", page.HasMore)
	o.Flag("done", page.Done)
	writeNext(&o, page.Next)
	o.End()
}

func writeChunk(e *wire.Encoder, chunk *world.Chunk) {
	o := e.Object()
	o.Whole("index", chunk.Index)
	o.Key("data")
	e.ByteString(chunk.Data)
	o.End()
}

// writeNext writes the index at which a reader continues after an end, if something was written after it.
func writeNext(o *wire.Object, next int64) {
	if next > 0 {
		o.Whole("next", next)
	}
}
