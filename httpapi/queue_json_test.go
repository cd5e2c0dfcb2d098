package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// A JSON document reaches the app unchanged, including spaces, and the queue still learns which run it belongs to.
func TestAJSONMessageIsDeliveredAsItStands(t *testing.T) {
	t.Parallel()
	document := `{ "runId": "r_1", "stepId": "s_1", "n": 1.0 }`
	got := enqueued(t, newFakes(t), m{"queueName": flowQueue, "jsonMessage": document}, nil)
	require.Equal(t, []any{document, input.TypeJSON}, []any{string(got.Body), got.ContentType})
	require.Equal(t, []any{"r_1", "s_1", false}, []any{got.RunID, got.StepID, got.Plain})

	got = enqueued(t, newFakes(t), m{"queueName": flowQueue, "jsonMessage": `{"runId":"r_1"}`}, nil)
	require.True(t, got.Plain)
}

func TestAMessageComesInOneForm(t *testing.T) {
	t.Parallel()
	for body, problem := range map[string]string{
		`{"queueName":"` + flowQueue + `"}`:                               "body.message is missing",
		`{"queueName":"` + flowQueue + `","message":1,"jsonMessage":"1"}`: "body has both message and jsonMessage",
		`{"queueName":"` + flowQueue + `","jsonMessage":"{"}`:             "body.jsonMessage is not one well-formed JSON value",
		`{"queueName":"` + flowQueue + `","jsonMessage":{}}`:              "body.jsonMessage must be text",
	} {
		status, answer := post(t, newServer(t, newFakes(t)), "/v1/queue", body)
		require.Equal(t, http.StatusBadRequest, status, answer)
		require.Contains(t, answer, problem)
	}
}
