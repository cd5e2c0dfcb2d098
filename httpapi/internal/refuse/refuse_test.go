package refuse

import (
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every code of the root package has a line in the table: only an internal error is a 500.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../error.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`(?m)^\tCode\w+ +Code = "(\w+)"`).FindAllSubmatch(source, -1)
	require.Greater(t, len(codes), 20)
	for _, found := range codes {
		code := world.Code(found[1])
		status, name := WireForm(code)
		require.Equal(t, code == world.CodeInternal, status == http.StatusInternalServerError, code)
		require.NotEmpty(t, name, code)
	}
	status, name := WireForm("not a code")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Equal(t, "WorkflowWorldError", name)
}

// The body of an error has what the error has, and no other fields: the spec versions go only with the error about them.
func TestTheBodyOfAnError(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for name, c := range map[string]struct {
		err  world.Error
		want m
	}{
		"least": {
			world.Error{Code: world.CodeConflict, Message: "taken", RunSpec: 9, WorldSpec: 7},
			m{"name": "n", "message": "taken", "status": int64(409), "code": "conflict"},
		},
		"most": {
			world.Error{Code: world.CodeTooEarly, Message: "soon", RetryAfter: 3, RunID: "wrun_1", Token: "t"},
			m{"name": "n", "message": "soon", "status": int64(409), "code": "too_early", "retryAfter": int64(3), "runId": "wrun_1", "token": "t"},
		},
		"spec versions": {
			world.Error{Code: world.CodeRunNotSupported, Message: "new", RunSpec: 9, WorldSpec: 7},
			m{"name": "n", "message": "new", "status": int64(409), "code": "run_not_supported", "runSpecVersion": int64(9), "worldSpecVersion": int64(7)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, m{"error": c.want}, worldtest.Decoded(t, Encode(c.err, http.StatusConflict, "n")))
		})
	}
}

// The refusal of a large body names the limit and its setting, and the size if it is known.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	require.EqualError(t, TooLarge(9, 8), "too_large: the body has 9 bytes, the limit is 8 (WORKFLOW_WORLD_MAX_BODY)")
	require.EqualError(t, TooLarge(-1, 8), "too_large: the body is larger than the limit of 8 bytes (WORKFLOW_WORLD_MAX_BODY)")
	require.Equal(t, world.CodeTooLarge, TooLarge(9, 8).Code)
}
