package asynqbridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// An envelope of an unknown version is refused, not misread.
func TestEnvelopeOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	m := world.Message{
		QueueName: "q", Body: []byte{1}, ContentType: "t", Headers: map[string]string{"a": "b"}, IdempotencyKey: "k",
		DeploymentID: "d", RunID: "r", StepID: "s", Plain: true,
	}
	b, err := encodeEnvelope(m)
	require.NoError(t, err)
	got, err := decodeEnvelope(b)
	require.NoError(t, err)
	require.Equal(t, m, got)
	// a1 00 02: {0: 2}
	_, err = decodeEnvelope([]byte{0xa1, 0x00, 0x02})
	require.ErrorContains(t, err, "version 2")
	_, err = decodeEnvelope([]byte("not CBOR at all"))
	require.Error(t, err)
}
