package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/livestream"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
)

// In all tests of this file the fakes have no functions: reaching one fails the test.

func TestGarbageBodies(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	cases := map[string]struct {
		body any
		want string
	}{
		"empty CBOR":            {[]byte{}, "the body is empty"},
		"empty JSON":            {"", "the body is empty"},
		"text as CBOR":          {[]byte("hello"), "the body is not one well-formed CBOR item"},
		"cut CBOR":              {[]byte{0xa1, 0x65, 'e'}, "the body is not one well-formed CBOR item"},
		"two items":             {[]byte{0xa0, 0xa0}, "the body is not one well-formed CBOR item"},
		"huge claimed array":    {[]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "the body is not one well-formed CBOR item"},
		"huge claimed map":      {[]byte{0xba, 0x7f, 0xff, 0xff, 0xff}, "the body is not one well-formed CBOR item"},
		"huge claimed text":     {[]byte{0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "the body is not one well-formed CBOR item"},
		"too deep":              {[]byte(strings.Repeat("\x81", 100_000)), "the body is not one well-formed CBOR item"},
		"reserved head":         {[]byte{0x1c}, "the body is not one well-formed CBOR item"},
		"lone break":            {[]byte{0xff}, "the body is not one well-formed CBOR item"},
		"a number":              {[]byte{0x01}, "body must be an object"},
		"undefined":             {[]byte{0xf7}, "body must be an object"},
		"number as key":         {[]byte{0xa1, 0x01, 0x02}, "body has a key that is not text"},
		"the same key twice":    {[]byte{0xa2, 0x61, 'a', 1, 0x61, 'a', 1}, `body has the key "a" twice`},
		"cut JSON":              {`{"event":`, "the body is not one well-formed JSON value"},
		"two JSON values":       {`{} {}`, "the body is not one well-formed JSON value"},
		"deep JSON":             {strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "the body is nested more than 512 levels deep"},
		"bytes that are none":   {`{"event":{"__type":"Uint8Array","data":"!"}}`, "is not base64"},
		"number out of range":   {`{"event":1e999}`, "the number 1e999 is out of range"},
		"indefinite, with junk": {[]byte{0xbf, 0x61, 'a', 0xff}, "the body is not one well-formed CBOR item"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, target := range []string{"/v1/events", "/v1/runs/" + runID + "/events", "/v1/queue", "/v1/apps"} {
				status, body := postCBOR(t, s, target, c.body)
				require.Equal(t, http.StatusBadRequest, status, body)
				require.Contains(t, errorOf(t, body)["message"], c.want)
			}
		})
	}
}

func TestUnsupportedBodies(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	send := func(header map[string]string) (int, string) {
		w := call{method: http.MethodPost, target: "/v1/events", body: "{}", header: header}.do(t, s)
		return w.Code, w.Body.String()
	}
	status, body := send(map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	require.Equal(t, http.StatusUnsupportedMediaType, status)
	require.Equal(t, m{
		"name": "WorkflowWorldError", "status": int64(415), "code": "unsupported_media_type",
		"message": "Content-Type is application/x-www-form-urlencoded, it must be application/cbor or application/json",
	}, errorOf(t, body))
	status, body = send(map[string]string{"Content-Encoding": "gzip"})
	require.Equal(t, http.StatusUnsupportedMediaType, status)
	require.Equal(t, "Content-Encoding is gzip, but bodies must have none", errorOf(t, body)["message"])
	status, body = send(map[string]string{"Content-Type": ""})
	require.Equal(t, http.StatusUnsupportedMediaType, status)
	require.Contains(t, errorOf(t, body)["message"], "Content-Type is (none)")
}

// zeros is an endless body that counts the bytes that were read.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

// A body of 100 MB is refused with the name of the limit, whether its length is announced or not.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	for name, announced := range map[string]bool{"announced": true, "chunked": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, newFakes(t))
			calls := []struct{ target, contentType string }{
				{"/v1/runs/" + runID + "/events", input.TypeCBOR},
				{"/v1/queue", input.TypeJSON},
				{"/v1/runs/" + runID + "/streams/s", livestream.TypeChunk},
				{"/.well-known/workflow/v1/flow", input.TypeCBOR},
			}
			if !announced {
				calls = calls[:1] // buffering 64 MiB takes the race detector seconds
			}
			for _, c := range calls {
				body := &zeros{}
				r := call{
					method: http.MethodPost, target: c.target, body: io.LimitReader(body, size),
					header: map[string]string{"Content-Type": c.contentType, "Accept": input.TypeJSON, "X-Vqs-Queue-Name": "__wkf_workflow_x"},
				}.request(t)
				if announced {
					r.ContentLength = size
				}
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
				message := "the body is larger than the limit of 67108864 bytes (WORKFLOW_WORLD_MAX_BODY)"
				if announced {
					message = fmt.Sprintf("the body has %d bytes, the limit is 67108864 (WORKFLOW_WORLD_MAX_BODY)", size)
				}
				require.Equal(t, m{
					"name": "WorkflowWorldError", "status": int64(413), "code": "too_large", "message": message,
				}, errorOf(t, w.Body.String()))
				// It was read to its end, so a client that sends before it reads gets the answer.
				require.GreaterOrEqual(t, body.read, int64(size))
			}
		})
	}
}

// A body of exactly the limit is accepted; one more byte is not.
func TestBodyLimitIsExact(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	var got int
	f.streams.append = func(a world.Append) (int64, error) { got = len(a.Chunks[0]); return 0, nil }
	s := newServer(t, f, func(c *Config, _ *Deps) { c.MaxBody = 1000 })
	send := func(n int) int {
		return call{method: http.MethodPost, target: "/v1/runs/r/streams/s", body: make([]byte, n), header: map[string]string{"Content-Type": livestream.TypeChunk}}.do(t, s).Code
	}
	require.Equal(t, http.StatusOK, send(1000))
	require.Equal(t, 1000, got)
	require.Equal(t, http.StatusRequestEntityTooLarge, send(1001))
}

// A client that waits for "100 Continue" is answered before it sends.
func TestBodyLimitWithExpect(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	body := &zeros{}
	r := call{method: http.MethodPost, target: "/v1/events", body: io.LimitReader(body, 100<<20), header: map[string]string{"Expect": "100-continue"}}.request(t)
	r.ContentLength = 100 << 20
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Zero(t, body.read)
}

func TestPathTricks(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	bad := []string{
		"..", ".", "%2e%2e", "%2E", "%00", "a%00b", "{}", "{a}", "%7Ba%7D", "a%2Fb", "a%5Cb", "%20", "a%20b", "%0a", "%F0%9F%98%80", "a%25b", "*",
		strings.Repeat("a", 257), "%252e",
	}
	for _, id := range bad {
		for _, target := range []string{
			"/v1/runs/" + id, "/v1/runs/" + id + "/events", "/v1/runs/" + runID + "/events/" + id, "/v1/runs/" + id + "/steps",
			"/v1/runs/" + runID + "/steps/" + id, "/v1/steps/" + id, "/v1/hooks/" + id, "/v1/runs/" + id + "/streams",
			"/v1/runs/" + id + "/streams/s", "/v1/hooks?runId=" + id, "/v1/events?correlationId=" + id, "/v1/events?correlationId=a&runId=" + id,
		} {
			status, body := get(t, s, target)
			require.Equal(t, http.StatusBadRequest, status, target+" "+body)
			require.Contains(t, errorOf(t, body)["message"], "must be an id")
		}
		status, _ := post(t, s, "/v1/runs/"+id+"/events", `{"event":{"eventType":"run_started"}}`)
		require.Equal(t, http.StatusBadRequest, status, id)
	}
	// An empty segment is an invalid id, a path that climbs is not a route, and / says where to look.
	for target, want := range map[string]int{"/v1/runs//events": 400, "/v1/runs/": 404, "/v1/../v1/runs": 404, "//v1/runs": 404, "/v1/runs/a/../b": 404, "/": 200} {
		status, _ := get(t, s, target)
		require.Equal(t, want, status, target)
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	cases := map[string]string{
		"/v1/runs?limit=0":                                      "limit must be a positive whole number",
		"/v1/runs?limit=-1":                                     "limit must be a positive whole number",
		"/v1/runs?limit=":                                       "limit must be a positive whole number",
		"/v1/runs?limit=1.5":                                    "limit must be a positive whole number",
		"/v1/runs?limit=99999999999999999999":                   "limit must be a positive whole number",
		"/v1/runs?sortOrder=up":                                 "sortOrder must be asc or desc",
		"/v1/runs?resolveData=some":                             "resolveData must be all or none",
		"/v1/runs?createdFrom=yesterday":                        `createdFrom must be a timestamp in epoch milliseconds`,
		"/v1/runs?createdBefore=0":                              `createdBefore must be a timestamp in epoch milliseconds`,
		"/v1/runs?status=sleeping":                              `status must be pending, running, completed, failed, cancelled or paused, not "sleeping"`,
		"/v1/runs?limit=%zz":                                    "the query of the address is malformed",
		"/v1/runs?cursor=" + strings.Repeat("c", 4097):          "the cursor is not one of this service's",
		"/v1/runs?workflowName=" + strings.Repeat("c", 4097):    "workflowName has 4097 bytes, the limit is 4096",
		"/v1/runs/" + runID + "?resolveData=x":                  "resolveData must be all or none",
		"/v1/events":                                            "correlationId is missing",
		"/v1/hooks/by-token":                                    "token is missing",
		"/v1/hooks/by-token?token=%FF":                          "token is not UTF-8",
		"/v1/hooks/by-token?token=" + strings.Repeat("t", 4097): "token has 4097 bytes, the limit is 4096",
		"/v1/streams/" + strings.Repeat("s", 1025) + "/info":    "name has 1025 bytes, the limit is 1024",
		"/v1/streams/%FF/info":                                  "name is not UTF-8",
		"/v1/streams/s?startIndex=x":                            "startIndex must be a whole number",
		"/v1/streams/s?startIndex=":                             "startIndex must be a whole number",
		"/v1/streams/s?startIndex=99999999999999999999":         "startIndex must be a whole number",
		"/v1/streams/s/chunks?limit=x":                          "limit must be a positive whole number",
	}
	for target, want := range cases {
		status, body := get(t, s, target)
		require.Equal(t, http.StatusBadRequest, status, target)
		require.Equal(t, want, errorOf(t, body)["message"], target)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t))
	for _, key := range []string{strings.Repeat("k", 129), "clé", "tab\there"} {
		w := call{method: http.MethodPost, target: "/v1/events", body: "{}", header: map[string]string{transport.HeaderIdempotencyKey: key}}.do(t, s)
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Equal(t, "Idempotency-Key must be at most 128 visible ASCII characters", errorOf(t, w.Body.String())["message"])
	}
	long := strings.Repeat("k", 128)
	got := accepted(t, "/v1/runs/r/events", `{"event":{"eventType":"run_started"}}`, map[string]string{transport.HeaderIdempotencyKey: long})
	require.Equal(t, long, got.RequestID)
}
