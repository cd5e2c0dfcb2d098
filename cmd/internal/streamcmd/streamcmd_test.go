package streamcmd

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// service answers each connection with the next script, and records the Last-Event-ID of each.
func service(t *testing.T, answers ...func(w http.ResponseWriter)) (base string, seen *[]string) {
	t.Helper()
	seen = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Last-Event-ID"))
		answers[len(*seen)-1](w)
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

func run(t *testing.T, base string, args ...string) (out, errOut string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(func(name string) string {
		return map[string]string{"WORKFLOW_WORLD_URL": base + "/", "WORKFLOW_WORLD_TOKEN": "new,old"}[name]
	})
	cmd.SetArgs(append([]string{"tail"}, args...))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

const someRun = "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV"

// A cut is not the end: the tail continues after the last complete event.
func TestTailGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	base, seen := service(t,
		says("id: 0\ndata: \"one\"\n\n: nothing new\n\nid: 1\ndata: {\"a\":1}\n\nid: 2\nda"),
		says("event: bytes\nid: 2\ndata: \"AAEC/w==\"\n\nevent: end\ndata: {\"chunks\":3}\n\n"),
	)
	out, errOut, err := run(t, base, "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	require.NoError(t, err)
	require.Equal(t, "0\t\"one\"\n1\t{\"a\":1}\n2\t(4 bytes that cannot be shown)\n", out)
	require.Empty(t, errOut)
	require.Equal(t, []string{
		"/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/streams/strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user?startIndex=0 Bearer new ",
		"/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/streams/strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user?startIndex=0 Bearer new 1",
	}, *seen)
}

func TestTailRaw(t *testing.T) {
	t.Parallel()
	base, seen := service(t, says("id: 0\ndata: \"to\"\n\nid: 1\ndata: \"ken\\n\"\n\nid: 2\ndata: [1]\n\nevent: bytes\nid: 3\ndata: \"AP8=\"\n\nevent: end\ndata: {}\n\n"))
	out, _, err := run(t, base, someRun, "a/b", "--raw", "--from=-4")
	require.NoError(t, err)
	require.Equal(t, "token\n[1]\n\x00\xff", out)
	require.Equal(t, []string{"/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/streams/strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user_YS9i?startIndex=-4 Bearer new "}, *seen)
}

// A refusal by the service is printed in its words; a busy service is called again.
func TestTailOfARefusal(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code); _, _ = io.WriteString(w, body) }
	}
	base, _ := service(t, status(503, `{"error":{"message":"starting"}}`), status(401, `{"error":{"message":"the token is wrong"}}`))
	_, errOut, err := run(t, base, someRun, "logs")
	require.EqualError(t, err, "the service answers 401 Unauthorized: the token is wrong")
	require.Equal(t, "world-redis: the service answers 503 Service Unavailable: starting; trying again\n", errOut)
	for _, mistyped := range []string{"01ARZ", "wrun_01ARZ"} {
		_, _, err = run(t, base, mistyped)
		require.ErrorContains(t, err, `is not a run id`)
	}
}

// A run that does not exist is reported immediately, by the read of its own streams and before the read of another.
func TestTailOfARunThatDoesNotExist(t *testing.T) {
	t.Parallel()
	missing := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"code":"run_not_found","message":"Workflow run not found"}}`)
	}
	base, seen := service(t, missing, missing)
	for _, name := range []string{"logs", "strm_x"} {
		_, errOut, err := run(t, base, someRun, name)
		require.EqualError(t, err, "no such run: "+someRun)
		require.Empty(t, errOut)
	}
	require.Equal(t, []string{
		"/v1/runs/" + someRun + "/streams/strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user_bG9ncw?startIndex=0 Bearer new ",
		"/v1/runs/" + someRun + "/streams Bearer new ",
	}, *seen)
}

// Chunks that a later attempt of a step has written after an end are printed, too, also after a cut.
func TestTailGoesOnBehindAnEnd(t *testing.T) {
	t.Parallel()
	base, seen := service(t,
		says("id: 0\ndata: \"a1\"\n\nevent: end\ndata: {\"chunks\":1,\"next\":2}\n\n"),
		says(""),
		says("id: 2\ndata: \"a2\"\n\n"),
		says("event: end\ndata: {\"chunks\":3}\n\n"),
	)
	out, errOut, err := run(t, base, someRun)
	require.NoError(t, err)
	require.Equal(t, "0\t\"a1\"\n2\t\"a2\"\n", out)
	require.Contains(t, errOut, "a later attempt of its step writes again from index 2\n")
	const path = "/v1/runs/" + someRun + "/streams/strm_01ARZ3NDEKTSV4RRFFQ69G5FAV_user?startIndex="
	require.Equal(t, []string{path + "0 Bearer new ", path + "2 Bearer new ", path + "2 Bearer new ", path + "2 Bearer new 2"}, *seen)
}
