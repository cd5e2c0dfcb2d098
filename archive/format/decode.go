package format

import (
	"errors"
	"fmt"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// splitItem splits [kind, {…}].
func splitItem(b []byte) (kind string, fields []byte, err error) {
	h, rest, err := cboritem.ReadHead(b)
	if err != nil {
		return "", nil, err
	}
	if h.Major != cboritem.MajorArray || h.N != 2 || h.Indefinite() {
		return "", nil, errors.New("an item is not a pair")
	}
	first, rest, err := cboritem.Split(rest)
	if err != nil {
		return "", nil, err
	}
	kind, ok := cboritem.TextOf(first)
	if !ok {
		return "", nil, errors.New("an item has no kind")
	}
	fields, rest, err = cboritem.Split(rest)
	if err != nil || len(rest) > 0 {
		return "", nil, errors.Join(errors.New("an item is malformed"), err)
	}
	return kind, fields, nil
}

// each calls f with the keys and values of a map. Unknown keys are for f to ignore: a newer build may have added them.
func each(fields []byte, f func(key string, value []byte) error) error {
	h, rest, err := cboritem.ReadHead(fields)
	if err != nil {
		return err
	}
	if h.Major != cboritem.MajorMap || h.Indefinite() || h.N > uint64(len(rest)) {
		return errors.New("an item has no fields")
	}
	for range h.N {
		var key, value []byte
		if key, rest, err = cboritem.Split(rest); err != nil {
			return err
		}
		if value, rest, err = cboritem.Split(rest); err != nil {
			return err
		}
		text, ok := cboritem.TextOf(key)
		if !ok {
			return errors.New("a key is not a text")
		}
		if err := f(text, value); err != nil {
			return fmt.Errorf("field %q: %w", text, err)
		}
	}
	return nil
}

var errType = errors.New("it has the wrong type")

// targets are where the fields of an item belong: *string, *int, *int64, *world.Millis, *bool, *world.Raw, *[]byte.
type targets map[string]any

func (t targets) read(fields []byte) error {
	return each(fields, func(key string, value []byte) error {
		switch to := t[key].(type) {
		case *world.Raw:
			*to = value
		case *string:
			return set(to, value, cboritem.TextOf)
		case *bool:
			return set(to, value, cboritem.BoolOf)
		case *int64:
			return set(to, value, whole[int64])
		case *int:
			return set(to, value, whole[int])
		case *world.Millis:
			return set(to, value, whole[world.Millis])
		case *[]byte:
			return set(to, value, cboritem.BytesOf)
		case func([]byte) error:
			return to(value)
		}
		return nil
	})
}

func set[T any](to *T, value []byte, read func([]byte) (T, bool)) error {
	v, ok := read(value)
	if !ok {
		return errType
	}
	*to = v
	return nil
}

func whole[T ~int64 | ~int](value []byte) (T, bool) {
	n, ok := cboritem.WholeOf(value)
	return T(n), ok
}

func decodeHeader(kind string, fields []byte) (Header, error) {
	var h Header
	var what string
	err := targets{"format": &what, "version": &h.Version, "service": &h.Service, "copiedAt": &h.CopiedAt}.read(fields)
	if err == nil && (kind != kindHeader || what != name || h.Version < 1) {
		err = errors.New("it is no file of world-redis")
	}
	return h, err
}

func decodeRun(fields []byte) (world.Run, error) {
	var r world.Run
	var status string
	err := targets{
		"runId": &r.RunID, "status": &status, "deploymentId": &r.DeploymentID, "workflowName": &r.WorkflowName, "specVersion": &r.SpecVersion,
		"executionContext": &r.ExecutionContext, "input": &r.Input, "output": &r.Output, "error": &r.Error, "errorCode": &r.ErrorCode,
		"attributes": &r.Attributes, "encryptionPublicKey": &r.EncryptionPublicKey, "createdAt": &r.CreatedAt, "updatedAt": &r.UpdatedAt,
		"startedAt": &r.StartedAt, "completedAt": &r.CompletedAt, "expiredAt": &r.ExpiredAt,
	}.read(fields)
	r.Status = world.RunStatus(status)
	return r, err
}

func decodePart(kind string, fields []byte, n *counts) (p world.RunPart, err error) {
	switch kind {
	case kindEvent:
		n.events++
		p.Event, err = decodeEvent(fields)
	case kindStep:
		n.steps++
		p.Step, err = decodeStep(fields)
	case kindHook:
		n.hooks++
		p.Hook, err = decodeHook(fields)
	case kindStream:
		n.streams++
		p.Stream, err = decodeStream(fields)
	case kindChunk:
		n.chunks++
		p.Chunk = &world.Chunk{Data: []byte{}}
		err = targets{"index": &p.Chunk.Index, "data": &p.Chunk.Data}.read(fields)
		if p.Chunk.Data == nil {
			p.Chunk.Data = []byte{}
		}
	default:
		err = fmt.Errorf("there is an item %.40q, which is not known", kind)
	}
	return p, err
}

func decodeEvent(fields []byte) (*world.Event, error) {
	v := &world.Event{}
	var kind string
	err := targets{
		"eventId": &v.EventID, "runId": &v.RunID, "eventType": &kind, "correlationId": &v.CorrelationID, "specVersion": &v.SpecVersion,
		"resumeId": &v.ResumeID, "createdAt": &v.CreatedAt, "occurredAt": &v.OccurredAt,
		"eventData": func(value []byte) error {
			v.Data = world.Fields{}
			return each(value, func(key string, value []byte) error {
				v.Data = append(v.Data, world.Field{Key: key, Value: value})
				return nil
			})
		},
	}.read(fields)
	v.Type = world.EventType(kind)
	return v, err
}

func decodeStep(fields []byte) (*world.Step, error) {
	v := &world.Step{}
	var status string
	err := targets{
		"runId": &v.RunID, "stepId": &v.StepID, "stepName": &v.StepName, "status": &status, "input": &v.Input, "output": &v.Output,
		"error": &v.Error, "attempt": &v.Attempt, "specVersion": &v.SpecVersion, "createdAt": &v.CreatedAt, "updatedAt": &v.UpdatedAt,
		"startedAt": &v.StartedAt, "completedAt": &v.CompletedAt, "retryAfter": &v.RetryAfter,
	}.read(fields)
	v.Status = world.StepStatus(status)
	return v, err
}

func decodeHook(fields []byte) (*world.HookCopy, error) {
	v := &world.HookCopy{}
	err := targets{
		"runId": &v.RunID, "hookId": &v.HookID, "token": &v.Token, "ownerId": &v.OwnerID, "projectId": &v.ProjectID, "environment": &v.Environment,
		"metadata": &v.Metadata, "isWebhook": &v.IsWebhook, "isSystem": &v.IsSystem, "specVersion": &v.SpecVersion, "position": &v.Position,
		"createdAt": &v.CreatedAt, "tokenRetentionUntil": &v.TokenRetentionUntil,
	}.read(fields)
	return v, err
}

func decodeStream(fields []byte) (*world.StreamCopy, error) {
	v := &world.StreamCopy{}
	err := targets{"name": &v.Name, "count": &v.Count, "ends": func(value []byte) error {
		h, rest, err := cboritem.ReadHead(value)
		if err != nil || h.Major != cboritem.MajorArray || h.Indefinite() || h.N > uint64(len(rest)) {
			return errType
		}
		for range h.N {
			var item []byte
			if item, rest, err = cboritem.Split(rest); err != nil {
				return err
			}
			end, ok := cboritem.WholeOf(item)
			if !ok {
				return errType
			}
			v.Ends = append(v.Ends, end)
		}
		return nil
	}}.read(fields)
	return v, err
}

func decodeEnd(fields []byte) (counts, error) {
	var n counts
	err := targets{"events": &n.events, "steps": &n.steps, "hooks": &n.hooks, "streams": &n.streams, "chunks": &n.chunks}.read(fields)
	return n, err
}
