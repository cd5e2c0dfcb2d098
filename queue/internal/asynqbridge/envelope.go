package asynqbridge

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

const envelopeVersion = 1

// envelope is a message as it lies in Redis. Fields are only ever added; a change of
// meaning takes a new version, and old ones stay readable.
type envelope struct {
	Version      int               `cbor:"0,keyasint"`
	QueueName    string            `cbor:"1,keyasint"`
	Body         []byte            `cbor:"2,keyasint"`
	ContentType  string            `cbor:"3,keyasint,omitempty"`
	Headers      map[string]string `cbor:"4,keyasint,omitempty"`
	DeploymentID string            `cbor:"5,keyasint,omitempty"`
	RunID        string            `cbor:"6,keyasint,omitempty"`
	StepID       string            `cbor:"7,keyasint,omitempty"`
	Key          string            `cbor:"8,keyasint,omitempty"`
	Plain        bool              `cbor:"9,keyasint,omitempty"`
	Namespace    string            `cbor:"10,keyasint,omitempty"`
	SDK          string            `cbor:"11,keyasint,omitempty"`
	Hops         int               `cbor:"12,keyasint,omitempty"`
}

func encodeEnvelope(m world.Message) ([]byte, error) {
	b, err := cbor.Marshal(envelope{
		Version: envelopeVersion, QueueName: m.QueueName, Body: m.Body, ContentType: m.ContentType, Headers: m.Headers,
		DeploymentID: m.DeploymentID, RunID: m.RunID, StepID: m.StepID, Key: m.IdempotencyKey, Plain: m.Plain,
		Namespace: m.Namespace, SDK: m.SDK, Hops: m.Hops,
	})
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return b, nil
}

func decodeEnvelope(b []byte) (world.Message, error) {
	var e envelope
	if err := cbor.Unmarshal(b, &e); err != nil {
		return world.Message{}, fmt.Errorf("decode message: %w", err)
	}
	if e.Version != envelopeVersion {
		return world.Message{}, fmt.Errorf("decode message: version %d is not known to this program", e.Version)
	}
	return world.Message{
		QueueName: e.QueueName, Body: e.Body, ContentType: e.ContentType, Headers: e.Headers,
		DeploymentID: e.DeploymentID, RunID: e.RunID, StepID: e.StepID, IdempotencyKey: e.Key, Plain: e.Plain,
		Namespace: e.Namespace, SDK: e.SDK, Hops: e.Hops,
	}, nil
}
