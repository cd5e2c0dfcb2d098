package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// reservedPrefix begins the keys of the SDK's own attributes.
const reservedPrefix = "$"

// change is one entry of eventData.changes; a nil value removes the key.
type change struct {
	Key   string  `cbor:"key" json:"key"`
	Value *string `cbor:"value" json:"value"`
}

func attributeInvalid(format string, args ...any) error {
	return world.Errorf(world.CodeAttributeInvalid, format, args...)
}

// firstAttributes returns the attributes of a new run as script arguments, by key.
func firstAttributes(data world.Fields) []any {
	attributes := map[string]string{}
	if raw := data.Get("attributes"); raw != nil {
		_ = cbor.Unmarshal(raw, &attributes) // checked before
	}
	out := make([]any, 0, 2*len(attributes))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		out = append(out, key, attributes[key])
	}
	return out
}

// mayKeepNothing calls ExpectPurge if these attributes say that the run keeps nothing. It is called before they are stored.
// They are pairs as the scripts get them: a change has "=" before its value.
func (s *Store) mayKeepNothing(ctx context.Context, runID string, attributes []any) error {
	for i := 0; i+1 < len(attributes); i += 2 {
		if value := attributes[i+1]; attributes[i] == "$retention" && (value == "0" || value == "=0") {
			return s.expectPurge(ctx, runID)
		}
	}
	return nil
}

// checkFirstAttributes checks the attributes that a run is created with.
func checkFirstAttributes(data world.Fields) error {
	raw := data.Get("attributes")
	if raw == nil {
		return nil
	}
	var attributes map[string]*string
	if err := cbor.Unmarshal(raw, &attributes); err != nil {
		return attributeInvalid("The attributes must be texts by key")
	}
	if len(attributes) > world.MaxAttributes {
		return attributeInvalid("Run attribute count would exceed limit %d (post-merge %d)", world.MaxAttributes, len(attributes))
	}
	reserved := record.BoolField(data, "allowReservedAttributes")
	for key, value := range attributes {
		if value == nil {
			return attributeInvalid("The attribute %q is no text", short(key))
		}
		if err := checkAttribute(key, value, reserved); err != nil {
			return err
		}
	}
	return nil
}

// checkAttributeChanges checks what can be checked of an attr_set without the run.
func checkAttributeChanges(req *world.CreateEvent) error {
	changes, err := changesOf(req.Data)
	if err != nil {
		return err
	}
	reserved := record.BoolField(req.Data, "allowReservedAttributes")
	seen := make(map[string]bool, len(changes))
	for _, ch := range changes {
		if err := checkAttribute(ch.Key, ch.Value, reserved); err != nil {
			return err
		}
		if seen[ch.Key] {
			return attributeInvalid("Attribute key %q appears more than once in the same batch", short(ch.Key))
		}
		seen[ch.Key] = true
	}
	switch writerOf(req.Data) {
	case writerWorkflow, writerStep:
	default:
		return attributeInvalid("eventData.writer of attr_set must have the type workflow or step")
	}
	size, err := jsonSize(req.Data)
	if err != nil {
		return err
	}
	if size > world.MaxAttributeData {
		return attributeInvalid("Attribute eventData exceeds limit %d UTF-8 JSON bytes (received %d bytes)", world.MaxAttributeData, size)
	}
	return nil
}

func checkAttribute(key string, value *string, reserved bool) error {
	length := len(utf16.Encode([]rune(key)))
	switch {
	case key == "":
		return attributeInvalid("Attribute key must not be empty")
	case length > world.MaxAttributeKey:
		return attributeInvalid("Attribute key length %d exceeds limit %d: %q", length, world.MaxAttributeKey, short(key))
	case strings.HasPrefix(key, reservedPrefix) && !reserved:
		return attributeInvalid("Attribute key %q starts with reserved prefix %q", short(key), reservedPrefix)
	case value != nil && len(*value) > world.MaxAttributeValue:
		return attributeInvalid("Attribute value byte length %d exceeds limit %d", len(*value), world.MaxAttributeValue)
	}
	return nil
}

// short cuts a key for a message.
func short(key string) string {
	r := []rune(key)
	return string(r[:min(32, len(r))])
}

// changesOf reads eventData.changes.
func changesOf(data world.Fields) ([]change, error) {
	var changes []change
	raw := data.Get("changes")
	if raw == nil || cbor.Unmarshal(raw, &changes) != nil {
		return nil, attributeInvalid("eventData.changes of attr_set must be a list of keys with a text or null")
	}
	return changes, nil
}

const (
	writerWorkflow = "workflow"
	writerStep     = "step"
)

// writerOf returns the type of eventData.writer.
func writerOf(data world.Fields) string {
	var writer struct {
		Type string `cbor:"type"`
	}
	if raw := data.Get("writer"); raw == nil || cbor.Unmarshal(raw, &writer) != nil {
		return ""
	}
	return writer.Type
}

// jsonSize is how long eventData would be as JSON.
func jsonSize(data world.Fields) (int, error) {
	plain, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode()
	if err != nil {
		return 0, fail(err)
	}
	size := 2 + max(0, len(data)-1) // braces and commas
	for _, f := range data {
		var value any
		if err := plain.Unmarshal(f.Value, &value); err != nil {
			return 0, attributeInvalid("eventData.%s of attr_set is not plain data", short(f.Key))
		}
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		for _, v := range []any{f.Key, value} {
			if err := e.Encode(v); err != nil {
				return 0, attributeInvalid("eventData.%s of attr_set is not plain data", short(f.Key))
			}
		}
		size += out.Len() - 1 // two line ends for one colon
	}
	return size, nil
}

func days(d time.Duration) string {
	if d%(24*time.Hour) != 0 {
		return d.String()
	}
	return fmt.Sprintf("%g days", d.Hours()/24)
}
