package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

type m = map[string]any

// eventRow is an event as a list has it, with its data undecoded.
type eventRow struct {
	EventType     string          `cbor:"eventType"`
	CorrelationID string          `cbor:"correlationId"`
	Data          cbor.RawMessage `cbor:"eventData"`
}

// wide calls the service with CBOR, so a big payload costs a test no more than its bytes.
type wide struct {
	t      *testing.T
	base   string
	client http.Client
}

func (w *wide) do(method, path, request string, body []byte, contentType string) (status int, answer []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, bytes.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Accept", "application/cbor")
	req.Header.Set("Content-Type", contentType)
	if request != "" {
		req.Header.Set("Idempotency-Key", request)
	}
	res, err := w.client.Do(req)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, res.Body.Close()) }()
	answer, err = io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, answer
}

// event sends an event, asks for an answer without payloads, and returns status and answer, or the text of the error.
func (w *wide) event(runID, request, kind, id string, data m) (int, m) {
	w.t.Helper()
	event := m{"eventType": kind, "specVersion": 7}
	if id != "" {
		event["correlationId"] = id
	}
	if data != nil {
		event["eventData"] = data
	}
	body, err := cbor.Marshal(m{"event": event, "params": m{"resolveData": "none"}})
	require.NoError(w.t, err)
	path := "/v1/events"
	if runID != "" {
		path = "/v1/runs/" + runID + "/events"
	}
	status, text := w.do(http.MethodPost, path, request, body, "application/cbor")
	var answer m
	require.NoError(w.t, cbor.Unmarshal(text, &answer))
	if status != http.StatusOK {
		refusal := m{}
		for key, value := range answer["error"].(map[any]any) { //nolint:forcetypeassert // a test
			refusal[key.(string)] = value //nolint:forcetypeassert // a test
		}
		return status, refusal
	}
	return status, answer
}

// accepted is event for one that must succeed; it returns the answer.
func (w *wide) accepted(runID, kind, id string, data m) m {
	w.t.Helper()
	status, answer := w.event(runID, "", kind, id, data)
	require.Equal(w.t, http.StatusOK, status, "%s: %v", kind, answer)
	return answer
}

func (w *wide) read(path string, into any) (size int) {
	w.t.Helper()
	status, answer := w.do(http.MethodGet, path, "", nil, "application/cbor")
	require.Equal(w.t, http.StatusOK, status, path)
	require.NoError(w.t, cbor.Unmarshal(answer, into))
	return len(answer)
}

// newRun creates a run and returns its id.
func (w *wide) newRun(input []byte) string {
	w.t.Helper()
	answer := w.accepted("", "run_created", "", m{"deploymentId": "dpl_1", "workflowName": "wf", "input": input})
	return answer["run"].(map[any]any)["runId"].(string) //nolint:forcetypeassert // a test
}

// patterned returns bytes that do not repeat within a page of memory, so that a misplaced piece is noticed.
func patterned(size int) []byte {
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(i ^ i>>8 ^ i>>16) //nolint:gosec // what is cut off is not needed
	}
	return out
}

// BR-37: big payloads in the fields that the client's own tests (client/test/faults.sizes.test.ts) leave out, up to the
// limit for bodies. An error is stored in its event's record, the others beside it. At 32 MB two are tried, and with
// -chaos.long two at 64 MB: these are slow.
func TestBR37SizesOfEveryField(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redistest.Client(t, server.Addr)
	base, _, stop := startService(t, "WORKFLOW_REDIS_URL=redis://"+server.Addr)
	w := &wide{t: t, base: base}
	entity := func(path string) (out m) {
		t.Helper()
		w.read(path, &out)
		return out
	}
	fields := map[string]func(payload []byte) any{
		"input": func(payload []byte) any { return entity("/v1/runs/" + w.newRun(payload))["input"] },
		"error": func(payload []byte) any {
			runID := w.newRun([]byte{1})
			w.accepted(runID, "run_failed", "", m{"error": payload})
			return entity("/v1/runs/" + runID)["error"]
		},
		"metadata": func(payload []byte) any {
			runID := w.newRun([]byte{1})
			w.accepted(runID, "hook_created", "hook_1", m{"token": runID, "metadata": payload})
			return entity("/v1/hooks/hook_1")["metadata"]
		},
		"hook payload": func(payload []byte) any {
			runID := w.newRun([]byte{1})
			w.accepted(runID, "hook_created", "hook_2", m{"token": runID})
			received := w.accepted(runID, "hook_received", "hook_2", m{"payload": payload})["event"].(map[any]any) //nolint:forcetypeassert // a test
			event := entity(fmt.Sprintf("/v1/runs/%s/events/%s", runID, received["eventId"]))
			return event["eventData"].(map[any]any)["payload"] //nolint:forcetypeassert // a test
		},
	}
	small := []string{"error", "metadata"}
	sizes := map[int][]string{
		64_000: small, 1_000_000: small, 4_500_000: small, 8_000_000: {"hook payload"}, 32_000_000: {"input", "metadata"},
	}
	if *chaosLong {
		sizes[64_000_000] = []string{"error", "hook payload"}
	}
	for size, names := range sizes {
		payload := patterned(size)
		for _, name := range names {
			got, ok := fields[name](payload).([]byte)
			require.True(t, ok && bytes.Equal(payload, got), "%s of %d bytes", name, size)
			require.NoError(t, client.FlushDB(t.Context()).Err()) // or all of them would be there at once
		}
	}
	require.NoError(t, stop())
}
