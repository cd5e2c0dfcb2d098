package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	typeChunk  = "application/octet-stream"
	typeFrames = "application/vnd.world-redis.chunks"

	headerWriter   = "X-Stream-Writer"
	headerSequence = "X-Stream-Sequence"
	headerStart    = "X-Stream-Start"
	headerStep     = "X-Stream-Step"
	headerAttempt  = "X-Stream-Attempt"
	headerSteps    = "X-Stream-Steps"

	mostSteps = 16 // that a call may come from
)

// appendBuffers lends memory to the bodies of writes, which nobody needs once the chunks are
// stored: large chunks would make as much garbage as there is data.
var appendBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *Server) appendChunks(c echo.Context) error {
	a, err := readAppend(c)
	if err != nil {
		return err
	}
	contentType := mediaType(c.Request().Header.Get("Content-Type"))
	if contentType != typeChunk && contentType != typeFrames {
		return unsupportedMedia(contentType, typeChunk, typeFrames)
	}
	// From here on the stream is being written, however long the body takes to come.
	defer s.deps.Streams.ExpectAppend(a.Name)()
	buf := appendBuffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is in there
	defer func() {
		if buf.Cap() <= smallBody+bytes.MinRead {
			buf.Reset()
			appendBuffers.Put(buf)
		}
	}()
	body, err := s.readBodyInto(c, buf)
	if err != nil {
		return err
	}
	if contentType == typeChunk {
		a.Chunks = [][]byte{body}
	} else if a.Chunks, err = splitFrames(body); err != nil {
		return err
	}
	first, err := s.deps.Streams.AppendChunks(c.Request().Context(), a)
	if err != nil {
		return err
	}
	e := newEncoder(32)
	o := e.object()
	o.whole("index", first)
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// readAppend reads everything of a write but its chunks.
func readAppend(c echo.Context) (world.Append, error) {
	a := world.Append{RequestID: requestID(c)}
	var err error
	if a.RunID, err = pathID(c, "runId"); err != nil {
		return a, err
	}
	if a.Name, err = pathText(c, "name", maxStreamName); err != nil {
		return a, err
	}
	if a.Steps, err = streamSteps(c); err != nil {
		return a, err
	}
	h := c.Request().Header
	a.WriterID = h.Get(headerWriter)
	sequence := h.Get(headerSequence)
	if (a.WriterID == "") != (sequence == "") {
		return a, invalid("%s and %s go together", headerWriter, headerSequence)
	}
	if a.WriterID == "" {
		return a, nil
	}
	if !validID(a.WriterID) {
		return a, invalid("%s %s", headerWriter, idRule)
	}
	n, err := strconv.ParseUint(sequence, 10, 53)
	if err != nil {
		return a, invalid("%s must be a whole number that is not negative", headerSequence)
	}
	a.Sequence = int64(n)
	return a, nil
}

// streamSteps reads which step makes the call, and in which attempt; or, if that is not known, which ones may.
func streamSteps(c echo.Context) ([]world.StreamStep, error) {
	h := c.Request().Header
	step, attempt, several := h.Get(headerStep), h.Get(headerAttempt), h.Get(headerSteps)
	switch {
	case (step == "") != (attempt == ""):
		return nil, invalid("%s and %s go together", headerStep, headerAttempt)
	case several != "" && step != "":
		return nil, invalid("%s and %s do not go together", headerStep, headerSteps)
	case several != "":
		return severalSteps(several)
	case step == "":
		return nil, nil
	case !validID(step):
		return nil, invalid("%s %s", headerStep, idRule)
	}
	n, ok := attemptOf(attempt)
	if !ok {
		return nil, invalid("%s must be a whole number from 1 on", headerAttempt)
	}
	return []world.StreamStep{{ID: step, Attempt: n}}, nil
}

// severalSteps reads "<step> <attempt>, <step> <attempt>…".
func severalSteps(text string) ([]world.StreamStep, error) {
	list := make([]world.StreamStep, 0, mostSteps)
	for one := range strings.SplitSeq(text, ",") {
		step, attempt, _ := strings.Cut(strings.TrimSpace(one), " ")
		n, ok := attemptOf(attempt)
		if !ok || !validID(step) || len(list) == mostSteps {
			return nil, invalid("%s must be at most %d pairs of a step's id and its attempt, parted by commas", headerSteps, mostSteps)
		}
		list = append(list, world.StreamStep{ID: step, Attempt: n})
	}
	return list, nil
}

func attemptOf(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 53)
	return n, err == nil && n >= 1
}

func (s *Server) closeStream(c echo.Context) error {
	end := world.StreamClose{RequestID: requestID(c)}
	var err error
	if end.RunID, err = pathID(c, "runId"); err != nil {
		return err
	}
	if end.Name, err = pathText(c, "name", maxStreamName); err != nil {
		return err
	}
	if end.Steps, err = streamSteps(c); err != nil {
		return err
	}
	if err := s.deps.Streams.CloseStream(c.Request().Context(), end); err != nil {
		return err
	}
	return s.emptyAnswer(c)
}

func (s *Server) listStreams(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	q, request, _, err := listQuery(c)
	if err != nil {
		return err
	}
	names, err := s.deps.Streams.ListStreams(c.Request().Context(), runID, request)
	if err != nil {
		return err
	}
	paged := q.values.Has("limit") || q.values.Has("cursor")
	if names.HasMore && !paged {
		// A caller that does not know of hasMore would take the rest for streams that are not there.
		return world.Errorf(world.CodeTooLarge, "the run has more streams than one answer has room for: ask with a limit, and then with the cursor")
	}
	e := newEncoder(64 + 64*len(names.Data))
	o := e.object()
	o.key("data")
	e.array(len(names.Data))
	for _, name := range names.Data {
		e.text(name)
	}
	if paged {
		o.cursor(names.Cursor)
		o.flag("hasMore", names.HasMore)
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

func (s *Server) streamInfo(c echo.Context) error {
	name, err := pathText(c, "name", maxStreamName)
	if err != nil {
		return err
	}
	info, err := s.deps.Streams.StreamInfo(c.Request().Context(), name, 0)
	if err != nil {
		return err
	}
	e := newEncoder(32)
	o := e.object()
	o.whole("tailIndex", info.TailIndex)
	o.flag("done", info.Done)
	writeNext(&o, info.Next)
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

func (s *Server) listChunks(c echo.Context) error {
	name, err := pathText(c, "name", maxStreamName)
	if err != nil {
		return err
	}
	q, err := queryOf(c)
	if err != nil {
		return err
	}
	want, err := q.page()
	if err != nil {
		return err
	}
	page, err := s.deps.Streams.ListChunks(c.Request().Context(), name, want)
	if err != nil {
		return err
	}
	e := newEncoder(64 + sizes(page.Data, func(k *world.Chunk) int { return len(k.Data) + 32 }))
	o := e.object()
	o.key("data")
	e.array(len(page.Data))
	for _, chunk := range page.Data {
		k := e.object()
		k.whole("index", chunk.Index)
		k.key("data")
		e.byteString(chunk.Data)
		k.end()
	}
	o.cursor(page.Cursor)
	o.flag("hasMore", page.HasMore)
	o.flag("done", page.Done)
	writeNext(&o, page.Next)
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// writeNext tells where a reader goes on behind an end, if something was written behind it.
func writeNext(o *objectWriter, next int64) {
	if next > 0 {
		o.whole("next", next)
	}
}
