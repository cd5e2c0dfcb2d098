package postgres

import (
	"errors"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// splitData divides eventData into the fields without the payload, as a CBOR map (nil for no eventData), and the payload with
// the number of fields before it.
func splitData(e *world.Event) (data []byte, payload world.Raw, key string, at int) {
	if e.Data == nil {
		return nil, nil, "", 0
	}
	fields := e.Data
	if key = e.Type.PayloadKey(); key != "" {
		at = slices.IndexFunc(fields, func(f world.Field) bool { return f.Key == key })
		if at >= 0 {
			payload, fields = fields[at].Value, slices.Delete(slices.Clone(fields), at, at+1)
		} else {
			key, at = "", 0
		}
	}
	data = cboritem.AppendHead(nil, cboritem.MajorMap, uint64(len(fields)))
	for _, f := range fields {
		data = append(cboritem.AppendText(data, f.Key), f.Value...)
	}
	return data, payload, key, at
}

var errData = errors.New("the column data of an event is not a CBOR map with text keys")

// joinData is the inverse of splitData.
func joinData(data []byte, payload world.Raw, key string, at int) (world.Fields, error) {
	if data == nil {
		return nil, nil
	}
	head, rest, err := cboritem.ReadHead(data)
	if err != nil || head.Major != cboritem.MajorMap || head.N > uint64(len(rest)) {
		return nil, errData
	}
	out := make(world.Fields, 0, head.N+1)
	for range head.N {
		var item, value []byte
		if item, rest, err = cboritem.Split(rest); err != nil {
			return nil, errData
		}
		name, isText := cboritem.TextOf(item)
		if !isText {
			return nil, errData
		}
		if value, rest, err = cboritem.Split(rest); err != nil {
			return nil, errData
		}
		out = append(out, world.Field{Key: name, Value: value})
	}
	if payload != nil {
		out = slices.Insert(out, min(at, len(out)), world.Field{Key: key, Value: payload})
	}
	return out, nil
}
