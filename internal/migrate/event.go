package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// times are the keys of eventData that hold a time. Other Worlds write them as text; here they are numbers.
var times = map[string]bool{"resumeAt": true, "retryAfter": true, "tokenRetentionUntil": true}

// parseMillis reads a time as JSON has it: ISO 8601, or epoch milliseconds.
func parseMillis(text string) (world.Millis, error) {
	if text == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time", text)
	}
	return world.MillisOf(at), nil
}

// fieldsOf reads eventData, and keeps the order of its keys.
func fieldsOf(text []byte) (world.Fields, error) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("eventData is not an object")
	}
	fields := world.Fields{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		field := world.Field{Key: key.(string)} // a key is always text
		if field.Value, err = valueOf(field.Key, value); err != nil {
			return nil, fmt.Errorf("eventData.%s: %w", field.Key, err)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

func valueOf(key string, text []byte) (world.Raw, error) {
	var at string
	if times[key] && json.Unmarshal(text, &at) == nil {
		ms, err := parseMillis(at)
		if err != nil {
			return nil, err
		}
		text = fmt.Append(nil, int64(ms))
	}
	return wire.FromJSON(text)
}
