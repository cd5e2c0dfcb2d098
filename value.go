package world

import "time"

// Raw is one well-formed CBOR data item, stored and returned exactly as it was received. A nil Raw means "absent",
// which differs from an encoded null.
type Raw []byte

// Millis is a timestamp in epoch milliseconds. Zero means "absent".
//
// Timestamps are whole milliseconds from end to end, because the SDK replays workflows against them: a rounding error
// of one millisecond makes the replay diverge.
type Millis int64

// MillisOf converts a time.Time, dropping anything below a millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time converts back; absent becomes the zero time.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Field is one entry of an open-ended map whose values stay encoded.
type Field struct {
	Key   string
	Value Raw
}

// Fields is an ordered map of encoded values, such as an event's eventData.
type Fields []Field

// Get returns the value of key, or nil when the key is absent.
func (f Fields) Get(key string) Raw {
	for _, e := range f {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Has reports whether key is present, even with an encoded null.
func (f Fields) Has(key string) bool { return f.Get(key) != nil }

// Without returns the fields without key; f itself is left as it is.
func (f Fields) Without(key string) Fields {
	out := make(Fields, 0, len(f))
	for _, e := range f {
		if e.Key != key {
			out = append(out, e)
		}
	}
	return out
}
