package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// Every code has one status and one SDK class, and the body has all details.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err        *world.Error
		status     int
		name       string
		retryAfter string // header
		extra      m
	}{
		{world.RunNotFound(runID), 404, "WorkflowRunNotFoundError", "", m{"runId": runID}},
		{world.HookNotFound("tok/😀"), 404, "HookNotFoundError", "", m{"token": "tok/😀"}},
		{world.StepNotFound("step_1"), 404, "WorkflowWorldError", "", nil},
		{world.Errorf(world.CodeWaitNotFound, "w"), 404, "WorkflowWorldError", "", nil},
		{world.Errorf(world.CodeEventNotFound, "e"), 404, "WorkflowWorldError", "", nil},
		{world.Errorf(world.CodeNotFound, "x"), 404, "WorkflowWorldError", "", nil},
		{world.Errorf(world.CodeConflict, "x"), 409, "EntityConflictError", "", nil},
		{world.Errorf(world.CodeStreamClosed, "x"), 409, "WorkflowWorldError", "", nil},
		{world.Errorf(world.CodeRunExpired, "x"), 410, "RunExpiredError", "", nil},
		{world.Errorf(world.CodePrecondition, "x"), 412, "PreconditionFailedError", "", nil},
		{world.Errorf(world.CodeTooLarge, "x"), 413, "WorkflowWorldError", "", nil},
		{
			&world.Error{Code: world.CodeRunNotSupported, Message: "x", RunSpec: 9, WorldSpec: 7}, 422, "RunNotSupportedError", "",
			m{"runSpecVersion": int64(9), "worldSpecVersion": int64(7)},
		},
		{&world.Error{Code: world.CodeTooEarly, Message: "x", RetryAfter: 30}, 425, "TooEarlyError", "30", m{"retryAfter": int64(30)}},
		{world.Errorf(world.CodeTooEarly, "x"), 425, "TooEarlyError", "1", m{"retryAfter": int64(1)}},
		{world.Errorf(world.CodeThrottled, "x"), 429, "ThrottleError", "1", m{"retryAfter": int64(1)}},
		{world.Errorf(world.CodeInvalid, "bad cursor"), 400, "WorkflowWorldError", "", nil},
		{world.Errorf(world.CodeUnauthorized, "x"), 401, "WorkflowWorldError", "", nil},
		{world.Wrap(world.CodeUnavailable, errors.New("dial tcp: secret"), "Redis is away"), 503, "WorkflowWorldError", "1", m{"retryAfter": int64(1)}},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %s", c.err.Code, c.retryAfter), func(t *testing.T) {
			t.Parallel()
			f := newFakes(t)
			f.store.getRun = func(context.Context, string, bool) (world.Run, error) {
				return world.Run{}, fmt.Errorf("wrapped on the way: %w", c.err)
			}
			s := newServer(t, f)
			want := m{"name": c.name, "message": c.err.Message, "status": int64(c.status), "code": string(c.err.Code)}
			for k, v := range c.extra {
				want[k] = v
			}
			w := call{method: http.MethodGet, target: "/v1/runs/r"}.do(t, s)
			require.Equal(t, c.status, w.Code)
			require.Equal(t, c.retryAfter, w.Header().Get("Retry-After"))
			require.Equal(t, want, errorOf(t, w.Body.String()))

			// In CBOR it is the same.
			w = call{method: http.MethodGet, target: "/v1/runs/r", header: map[string]string{"Accept": input.TypeCBOR}}.do(t, s)
			require.Equal(t, input.TypeCBOR, w.Header().Get("Content-Type"))
			require.Equal(t, m{"error": want}, decoded(t, w.Body.Bytes()))
		})
	}
}

// An internal error is logged with an id, and the caller gets only the id.
func TestInternalErrorsStayInside(t *testing.T) {
	t.Parallel()
	failures := map[string]func() error{
		"plain error":    func() error { return errors.New("WRONGTYPE secret") },
		"internal error": func() error { return world.Wrap(world.CodeInternal, errors.New("WRONGTYPE secret"), "secret too") },
		"panic":          func() error { panic("WRONGTYPE secret") },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			f := newFakes(t)
			f.store.getRun = func(context.Context, string, bool) (world.Run, error) { return world.Run{}, fail() }
			s := newServer(t, f, func(c *Config, _ *Deps) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			status, body := get(t, s, "/v1/runs/r")
			require.Equal(t, http.StatusInternalServerError, status)
			require.Equal(t, m{
				"name": "WorkflowWorldError", "status": int64(500), "code": "internal",
				"message": "internal error, see the service's log, request req_made_up",
			}, errorOf(t, body))
			require.Contains(t, log.String(), "WRONGTYPE secret")
			require.Contains(t, log.String(), "req_made_up")
		})
	}
}

// A caller that hangs up is no error: no log line, no stack.
func TestCallerGoneIsNotLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFakes(t)
	f.store.getRun = func(ctx context.Context, _ string, _ bool) (world.Run, error) {
		return world.Run{}, fmt.Errorf("redis: %w", ctx.Err())
	}
	s := newServer(t, f, func(c *Config, _ *Deps) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/runs/r", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Empty(t, log.String())
}

// If Redis does not answer in time, the error says to try again, and is not an internal one.
func TestTimeoutIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.store.getRun = func(context.Context, string, bool) (world.Run, error) {
		return world.Run{}, fmt.Errorf("redis: %w", context.DeadlineExceeded)
	}
	status, body := get(t, newServer(t, f), "/v1/runs/r")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "unavailable", errorOf(t, body)["code"])
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	status, body := get(t, s, "/v2/runs")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, m{"name": "WorkflowWorldError", "message": "there is no route GET /v2/runs", "status": int64(404), "code": "not_found"}, errorOf(t, body))

	w := call{method: http.MethodPut, target: "/v1/runs/r"}.do(t, s)
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Contains(t, w.Header().Get("Allow"), http.MethodGet)
	require.Equal(t, m{"name": "WorkflowWorldError", "message": "/v1/runs/r has no method PUT", "status": int64(405), "code": "not_found"}, errorOf(t, w.Body.String()))

	w = call{method: http.MethodHead, target: "/v1/runs/r"}.do(t, s)
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Empty(t, w.Body.String())
}
