package embedded_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// BR-24: a wrong address is detected without sending a message.
func TestBR24CheckSaysWhatIsWrongWithAnAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		says   []string // nothing: all is well
	}{
		"an app":                 {200, json(), `{"healthy":true,"endpoint":"flow"}`, nil},
		"one of SDK 4.0.1-beta":  {200, typed("text/plain"), `Workflow DevKit "/.well-known/workflow/v1/flow" endpoint is healthy`, nil},
		"redirect to a login":    {307, map[string]string{"Location": "/login"}, "", []string{"answered 307", `"/login"`, "redirects are not followed"}},
		"login page":             {200, typed("text/html"), "<title>Log in</title>", []string{"Log in", "login page"}},
		"something else's route": {404, typed("text/plain"), "404 page not found", []string{"answered 404", "WORKFLOW_BASE_URL"}},
		"another server":         {200, typed("text/plain"), "Welcome", []string{"Welcome", "is this the address of the workflow handler?"}},
		"a proxy without an app": {502, nil, "", []string{"answered 502"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newStubApp(t, func(w http.ResponseWriter, r *http.Request) {
				if !r.URL.Query().Has("__health") {
					t.Error("asked for something else")
				}
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			err := newForwarder(t).Check(t.Context(), app.URL+"/v2")
			got := app.got()
			require.Len(t, got, 1)
			require.Equal(t, http.MethodPost, got[0].method)
			require.Equal(t, "/v2/.well-known/workflow/v1/flow", got[0].path)
			require.Equal(t, "application/json", got[0].header.Get("Content-Type"))
			require.Equal(t, "{}", string(got[0].body))
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			for _, part := range append(c.says, app.URL+"/v2/.well-known/workflow/v1/flow") {
				require.ErrorContains(t, err, part)
			}
		})
	}
	require.ErrorContains(t, newForwarder(t).Check(t.Context(), "http://no-such-host.invalid"), "the name of the app's host cannot be resolved here")
	require.ErrorContains(t, newForwarder(t).Check(t.Context(), "localhost:3000"), "is not an http or https address")
}
