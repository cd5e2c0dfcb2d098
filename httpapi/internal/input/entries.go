package input

import (
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// known are the usual keys of calls. Reading one of them allocates no memory.
var known = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"calls", "path", "key", "body", "then", "event", "params", "eventType", "correlationId", "specVersion", "eventData", "resumeId",
		"resolveData", "v1Compat", "occurredAt", "eventCount", "sinceCursor", "skipPreload", "preloadEvents", "requestId",
		"deploymentId", "workflowName", "executionContext", "input", "stepName", "result", "output", "error", "errorCode", "stack",
		"attempt", "retryAfter", "token", "metadata", "payload", "resumeAt", "attributes", "changes", "writer", "isWebhook",
		"queueName", "message", "opts", "runId", "idempotencyKey", "workflowRunId", "stepId", "deliverAfter", "headers",
	} {
		names[name] = name
	}
	return names
}()

// keyOf reads a key of a map.
func keyOf(item world.Raw) (string, bool) {
	if text, ok := cboritem.PlainText(item); ok {
		if name, ok := known[string(text)]; ok {
			return name, true
		}
		return string(text), true
	}
	return cboritem.TextOf(item)
}

// nameSet holds the keys of a map. Most maps have few keys.
type nameSet struct {
	few  [12]string
	n    int
	many map[string]struct{} // nil while they are few
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if s.many == nil {
		if slices.Contains(s.few[:s.n], name) {
			return false
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.many = make(map[string]struct{}, 2*len(s.few))
		for _, one := range s.few {
			s.many[one] = struct{}{}
		}
	}
	_, twice := s.many[name]
	s.many[name] = struct{}{}
	return !twice
}

// maxKeys limits the keys of a map that the service itself reads: a body, an event, its eventData, parameters.
// Each takes a few dozen times its size while it is read. Payloads are not read and may have any number of keys.
const maxKeys = 10_000

// EntriesOf returns the entries of a map in their order, without absent ones. Values
// are slices of item. Keys that are not text or repeated are refused.
func EntriesOf(path string, item world.Raw) (world.Fields, error) {
	if len(item) == 0 || cboritem.MajorOf(item) != cboritem.MajorMap {
		return nil, refuse.Invalid("%s must be an object", path)
	}
	h, b, err := cboritem.ReadHead(item)
	if err != nil {
		return nil, refuse.Invalid("%s is not well-formed CBOR", path)
	}
	if !h.Indefinite() && h.N > maxKeys {
		return nil, tooManyKeys(path)
	}
	fields := make(world.Fields, 0, min(h.N, 32))
	var seen nameSet
	for i := uint64(0); h.Indefinite() || i < h.N; i++ {
		if h.Indefinite() && len(b) > 0 && b[0] == cboritem.Break {
			break
		}
		if i == maxKeys {
			return nil, tooManyKeys(path)
		}
		var key, value []byte
		if key, b, err = cboritem.Split(b); err == nil {
			value, b, err = cboritem.Split(b)
		}
		if err != nil {
			return nil, refuse.Invalid("%s is not well-formed CBOR", path)
		}
		name, ok := keyOf(key)
		if !ok {
			return nil, refuse.Invalid("%s has a key that is not text", path)
		}
		if !seen.add(name) {
			return nil, refuse.Invalid("%s has the key %q twice", path, name)
		}
		if !cboritem.Absent(value) {
			fields = append(fields, world.Field{Key: name, Value: value})
		}
	}
	return fields, nil
}

func tooManyKeys(path string) error {
	return refuse.Invalid("%s has more than %d keys", path, maxKeys)
}
