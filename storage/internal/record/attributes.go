package record

import (
	"maps"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// FirstAttributeSpec is the spec version from which a run always has attributes.
const FirstAttributeSpec = 4

// attributeField is what stands before the key in the run's hash.
const attributeField = "@"

// EncodeAttributes writes attributes in the order of their keys.
func EncodeAttributes(attributes map[string]string) world.Raw {
	out := []byte{0xa0 + byte(len(attributes))} //nolint:gosec // at most world.MaxAttributes
	if len(attributes) > 23 {
		out = []byte{0xb8, byte(len(attributes))} //nolint:gosec // at most world.MaxAttributes
	}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		for _, text := range []string{key, attributes[key]} {
			encoded, err := cbor.Marshal(text)
			if err != nil {
				return nil // a text always encodes
			}
			out = append(out, encoded...)
		}
	}
	return out
}

// attributes collects the attributes of a run's hash.
func (e Entity) attributes() map[string]string {
	out := map[string]string{}
	for i := 0; i < len(e.Fields); i += 2 {
		if key, ok := strings.CutPrefix(e.Fields.Text(i), attributeField); ok {
			out[key] = e.Fields.Text(i + 1)
		}
	}
	return out
}
