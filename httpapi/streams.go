package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	headerWriter   = "X-Stream-Writer"
	headerSequence = "X-Stream-Sequence"
	headerStep     = "X-Stream-Step"
	headerAttempt  = "X-Stream-Attempt"
	headerSteps    = "X-Stream-Steps"

	mostSteps = 16 // that a call may come from
)

// appendBuffers lends memory to the bodies of writes, which nobody needs once the chunks are
// stored: large chunks would make as much garbage as there is data.
var appendBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (a *api) appendChunks(c echo.Context) error {
	write, err := readAppend(a.requestOf(c))
	if err != nil {
		return err
	}
	contentType := httpbody.MediaType(c.Request().Header.Get("Content-Type"))
	if contentType != livestream.TypeChunk && contentType != livestream.TypeFrames {
		return httpbody.UnsupportedMedia(contentType, livestream.TypeChunk, livestream.TypeFrames)
	}
	// From here on the stream is being written, however long the body takes to come.
	defer a.deps.Streams.ExpectAppend(write.Name)()
	buf := appendBuffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is in there
	defer func() {
		if buf.Cap() <= httpbody.SmallBody+bytes.MinRead {
			buf.Reset()
			appendBuffers.Put(buf)
		}
	}()
	body, err := a.ReadInto(c, buf)
	if err != nil {
		return err
	}
	if contentType == livestream.TypeChunk {
		write.Chunks = [][]byte{body}
	} else if write.Chunks, err = livestream.SplitFrames(body); err != nil {
		return err
	}
	first, err := a.deps.Streams.AppendChunks(c.Request().Context(), write)
	if err != nil {
		return err
	}
	e := wire.NewEncoder(32)
	o := e.Object()
	o.Whole("index", first)
	o.End()
	return a.Answer(c, http.StatusOK, e.Bytes)
}

// readAppend reads everything of a write but its chunks.
func readAppend(r *input.Request) (world.Append, error) {
	a := world.Append{RequestID: r.ID, RunID: r.PathID("runId"), Name: r.PathText("name", world.MaxStreamName), Steps: readSteps(r)}
	if r.Err != nil {
		return a, r.Err
	}
	h := r.From.Header()
	a.WriterID = h.Get(headerWriter)
	sequence := h.Get(headerSequence)
	if (a.WriterID == "") != (sequence == "") {
		return a, refuse.Invalid("%s and %s go together", headerWriter, headerSequence)
	}
	if a.WriterID == "" {
		return a, nil
	}
	if !world.ValidID(a.WriterID) {
		return a, refuse.Invalid("%s %s", headerWriter, world.IDRule)
	}
	n, err := strconv.ParseUint(sequence, 10, 53)
	if err != nil {
		return a, refuse.Invalid("%s must be a whole number that is not negative", headerSequence)
	}
	a.Sequence = int64(n)
	return a, nil
}

// readSteps reads which step makes the call, and in which attempt; or, if that is not known, which ones may.
func readSteps(r *input.Request) []world.StreamStep {
	steps, err := streamSteps(r.From.Header())
	if err != nil {
		r.Fail(err)
	}
	return steps
}

func streamSteps(h http.Header) ([]world.StreamStep, error) {
	step, attempt, several := h.Get(headerStep), h.Get(headerAttempt), h.Get(headerSteps)
	switch {
	case (step == "") != (attempt == ""):
		return nil, refuse.Invalid("%s and %s go together", headerStep, headerAttempt)
	case several != "" && step != "":
		return nil, refuse.Invalid("%s and %s do not go together", headerStep, headerSteps)
	case several != "":
		return severalSteps(several)
	case step == "":
		return nil, nil
	case !world.ValidID(step):
		return nil, refuse.Invalid("%s %s", headerStep, world.IDRule)
	}
	n, ok := attemptOf(attempt)
	if !ok {
		return nil, refuse.Invalid("%s must be a whole number from 1 on", headerAttempt)
	}
	return []world.StreamStep{{ID: step, Attempt: n}}, nil
}

// severalSteps reads "<step> <attempt>, <step> <attempt>…".
func severalSteps(text string) ([]world.StreamStep, error) {
	list := make([]world.StreamStep, 0, mostSteps)
	for one := range strings.SplitSeq(text, ",") {
		step, attempt, _ := strings.Cut(strings.TrimSpace(one), " ")
		n, ok := attemptOf(attempt)
		if !ok || !world.ValidID(step) || len(list) == mostSteps {
			return nil, refuse.Invalid("%s must be at most %d pairs of a step's id and its attempt, parted by commas", headerSteps, mostSteps)
		}
		list = append(list, world.StreamStep{ID: step, Attempt: n})
	}
	return list, nil
}

func attemptOf(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 53)
	return n, err == nil && n >= 1
}

func decodeClose(r *input.Request) (world.StreamClose, error) {
	end := world.StreamClose{RequestID: r.ID, RunID: r.PathID("runId"), Name: r.PathText("name", world.MaxStreamName), Steps: readSteps(r)}
	return end, r.Err
}

func (a *api) closeStream(ctx context.Context, end world.StreamClose) (nothing, error) {
	return nothing{}, a.deps.Streams.CloseStream(ctx, end)
}

// streamNames is a list of a run's streams. paged says that the caller knows of answers that have some of them only.
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

func (a *api) listStreams(ctx context.Context, want streamNames) (list streamNames, err error) {
	list = want
	if list.names, err = a.deps.Streams.ListStreams(ctx, want.runID, want.page); err != nil {
		return list, err
	}
	if list.names.HasMore && !list.paged {
		// A caller that does not know of hasMore would take the rest for streams that are not there.
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

func (a *api) streamInfo(ctx context.Context, name string) (world.StreamInfo, error) {
	return a.deps.Streams.StreamInfo(ctx, name, 0)
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

func (a *api) listChunks(ctx context.Context, want chunkQuery) (world.ChunkPage, error) {
	return a.deps.Streams.ListChunks(ctx, want.name, want.page)
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

// writeNext tells where a reader goes on behind an end, if something was written behind it.
func writeNext(o *wire.Object, next int64) {
	if next > 0 {
		o.Whole("next", next)
	}
}
