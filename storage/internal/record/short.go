package record

import (
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
)

// dataKeys are the keys of eventData that are stored as one byte, their place in this list. It only
// ever grows at the end, and never to more than 32.
var dataKeys = []string{
	"deploymentId", "workflowName", "executionContext", "input", "stepName", "result", "output", "error", "errorCode", "stack",
	"attempt", "retryAfter", "token", "metadata", "payload", "resumeAt", "attributes", "changes", "writer", "isWebhook",
}

// shortKey returns a key of eventData as it is stored. A key that looks like a short form, or like an escaped key, gets a zero
// byte in front.
func shortKey(key string) []byte {
	if i := slices.Index(dataKeys, key); i >= 0 {
		return []byte{byte(i)}
	}
	if len(key) == 1 || strings.HasPrefix(key, "\x00") {
		return []byte("\x00" + key)
	}
	return []byte(key)
}

// longKey undoes shortKey.
func longKey(stored []byte) string {
	switch {
	case len(stored) == 1 && int(stored[0]) < len(dataKeys):
		return dataKeys[stored[0]]
	case len(stored) > 1 && stored[0] == 0:
		return string(stored[1:])
	default:
		return string(stored)
	}
}

// idKinds are what correlation ids of the SDK begin with, before a ULID. The list only ever grows at
// the end.
var idKinds = []string{"step_", "hook_", "wait_", "attr_"}

// shortID returns a correlation id of the SDK as its kind and the bytes of its ULID, and nil for any other.
func shortID(id string) []byte {
	for kind, prefix := range idKinds {
		text, ok := strings.CutPrefix(id, prefix)
		if !ok {
			continue
		}
		if u, err := ulid.ParseStrict(text); err == nil && u.String() == text {
			return append([]byte{byte(kind)}, u[:]...)
		}
	}
	return nil
}

// longID undoes shortID.
func longID(short []byte) (string, error) {
	if len(short) != 1+len(ulid.ULID{}) || int(short[0]) >= len(idKinds) {
		return "", ErrDamaged
	}
	return idKinds[short[0]] + ulid.ULID(short[1:]).String(), nil
}
