package operations

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// Headers of writes to streams.
const (
	HeaderWriter   = "X-Stream-Writer"
	HeaderSequence = "X-Stream-Sequence"
	HeaderStep     = "X-Stream-Step"
	HeaderAttempt  = "X-Stream-Attempt"
	HeaderSteps    = "X-Stream-Steps"

	mostSteps = 16 // in one call
)

// DecodeAppend reads everything of a write except its chunks.
func DecodeAppend(r *input.Request) (world.Append, error) {
	a := world.Append{RequestID: r.ID, RunID: r.PathID("runId"), Name: r.PathText("name", world.MaxStreamName), Steps: readSteps(r)}
	if r.Err != nil {
		return a, r.Err
	}
	h := r.From.Header()
	a.WriterID = h.Get(HeaderWriter)
	sequence := h.Get(HeaderSequence)
	if (a.WriterID == "") != (sequence == "") {
		return a, refuse.Invalid("%s and %s go together", HeaderWriter, HeaderSequence)
	}
	if a.WriterID == "" {
		return a, nil
	}
	if err := world.CheckID(HeaderWriter, a.WriterID); err != nil {
		return a, err
	}
	n, err := strconv.ParseUint(sequence, 10, 53)
	if err != nil {
		return a, refuse.Invalid("%s must be a whole number that is not negative", HeaderSequence)
	}
	a.Sequence = int64(n)
	return a, nil
}

// readSteps reads which step makes the call and its attempt. If the caller does not know that, it names all steps that may.
func readSteps(r *input.Request) []world.StreamStep {
	steps, err := streamSteps(r.From.Header())
	if err != nil {
		r.Fail(err)
	}
	return steps
}

func streamSteps(h http.Header) ([]world.StreamStep, error) {
	step, attempt, several := h.Get(HeaderStep), h.Get(HeaderAttempt), h.Get(HeaderSteps)
	switch {
	case (step == "") != (attempt == ""):
		return nil, refuse.Invalid("%s and %s go together", HeaderStep, HeaderAttempt)
	case several != "" && step != "":
		return nil, refuse.Invalid("%s and %s do not go together", HeaderStep, HeaderSteps)
	case several != "":
		return severalSteps(several)
	case step == "":
		return nil, nil
	case !world.ValidID(step):
		return nil, refuse.Invalid("%s %s", HeaderStep, world.IDRule)
	}
	n, ok := attemptOf(attempt)
	if !ok {
		return nil, refuse.Invalid("%s must be a whole number, 1 or more", HeaderAttempt)
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
			return nil, refuse.Invalid("%s must be at most %d pairs of a step's id and its attempt, separated by commas", HeaderSteps, mostSteps)
		}
		list = append(list, world.StreamStep{ID: step, Attempt: n})
	}
	return list, nil
}

func attemptOf(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 53)
	return n, err == nil && n >= 1
}

// HeaderLastEventID is the header with which a reader of server-sent events continues.
const HeaderLastEventID = "Last-Event-ID"

// DecodeRead reads which stream to read, and from which index.
func DecodeRead(r *input.Request) (name string, start int64, err error) {
	r.PathID("runId")
	name, start = r.PathText("name", world.MaxStreamName), readStartIndex(r)
	if next, given := readResumeIndex(r); given {
		start = next
	}
	return name, start, r.Err
}

func readStartIndex(r *input.Request) int64 {
	q := r.Query()
	if !q.Has("startIndex") {
		return 0
	}
	n, err := strconv.ParseInt(q.Get("startIndex"), 10, 54)
	if err != nil {
		r.Fail(refuse.Invalid("startIndex must be a whole number"))
	}
	return n
}

// readResumeIndex returns the index after the last event that the caller has, if it sends that.
func readResumeIndex(r *input.Request) (next int64, given bool) {
	text := r.From.Header().Get(HeaderLastEventID)
	if text == "" {
		return 0, false
	}
	last, err := strconv.ParseInt(text, 10, 53)
	if err != nil || last < 0 {
		r.Fail(refuse.Invalid("%s must be the id of an event of this stream", HeaderLastEventID))
	}
	return last + 1, true
}
