package record

import (
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// TextField returns a text of eventData, "" when it is absent or no text.
func TextField(f world.Fields, key string) string {
	raw := f.Get(key)
	if raw == nil {
		return ""
	}
	if text, ok := cboritem.PlainText(raw); ok && utf8.Valid(text) {
		return string(text)
	}
	var s string
	if cbor.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// BoolField returns a boolean of eventData, false when it is absent or no boolean.
func BoolField(f world.Fields, key string) bool {
	var value bool
	raw := f.Get(key)
	return raw != nil && cbor.Unmarshal(raw, &value) == nil && value
}

// MillisField returns a timestamp of eventData; ok is false when it is absent or no timestamp.
func MillisField(f world.Fields, key string) (ms world.Millis, ok bool) {
	return cboritem.TimestampOf(f.Get(key))
}

// isBytes reports whether raw is a byte string, bare or tagged: an error as spec 4 and up
// writes it, opaque to everyone but the SDK.
func isBytes(raw world.Raw) bool {
	if tag, content, ok := cboritem.Untagged(raw); ok && tag > 1 { // 0 and 1 are dates, whose content is never bytes
		raw = content
	}
	return len(raw) > 0 && cboritem.MajorOf(raw) == cboritem.MajorBytes
}

// ErrorDetails is the error of a run or step up to spec 3.
type ErrorDetails struct {
	Message string `cbor:"message"`
	Stack   string `cbor:"stack,omitempty"`
	Code    string `cbor:"code,omitempty"`
}

// FirstOpaqueErrorSpec is the spec version from which errors are what the SDK sent, whatever
// it is.
const FirstOpaqueErrorSpec = 4

// runError builds a run's error from the data of run_failed.
func runError(data world.Fields, spec int) world.Raw {
	raw := data.Get("error")
	if isBytes(raw) || spec >= FirstOpaqueErrorSpec {
		return raw
	}
	e := describe(raw)
	e.Code = TextField(data, "errorCode")
	return encodeError(e)
}

// StepError builds a step's error from the data of step_failed or step_retrying, which carry
// the stack beside the error.
func StepError(data world.Fields, spec int) world.Raw {
	raw := data.Get("error")
	if isBytes(raw) || spec >= FirstOpaqueErrorSpec {
		return raw
	}
	e := describe(raw)
	e.Stack = TextField(data, "stack")
	return encodeError(e)
}

// describe reads what a client sent as an error: a text, or an object with message and stack.
func describe(raw world.Raw) ErrorDetails {
	e := ErrorDetails{Message: "Unknown error"}
	var v any
	if len(raw) == 0 || cbor.Unmarshal(raw, &v) != nil {
		return e
	}
	switch v := v.(type) {
	case string:
		e.Message = v
	case map[any]any:
		if s, ok := v["message"].(string); ok {
			e.Message = s
		}
		if s, ok := v["stack"].(string); ok {
			e.Stack = s
		}
	}
	return e
}

func encodeError(e ErrorDetails) world.Raw {
	raw, err := cbor.Marshal(e)
	if err != nil {
		return nil // a struct of three texts always encodes
	}
	return raw
}
