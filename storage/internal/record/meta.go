package record

import (
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// meta is the CBOR map of a record. Values of eventData are byte strings that contain CBOR, so that no decoder walks through
// them. What is in every run is stored in short form: see shortKey and shortID.
type meta struct {
	CorrelationID string   `cbor:"1,keyasint,omitempty"`
	SpecVersion   int      `cbor:"2,keyasint,omitempty"`
	OccurredAt    int64    `cbor:"3,keyasint,omitempty"`
	ResumeID      string   `cbor:"4,keyasint,omitempty"`
	Data          [][]byte `cbor:"5,keyasint,omitempty"` // key, value, key, value, …
	PayloadAt     int      `cbor:"6,keyasint,omitempty"` // 1 + where the payload stood in eventData
	EmptyData     bool     `cbor:"7,keyasint,omitempty"` // eventData was there, without entries
	ShortID       []byte   `cbor:"8,keyasint,omitempty"` // the correlation id, when it has a short form
}

// append writes the map as the library would.
func (m *meta) append(b []byte) []byte {
	head := len(b)
	b = append(b, cboritem.EmptyMap)
	key := func(n byte) {
		b[head]++ // there are eight at most
		b = append(b, n)
	}
	number := func(n byte, value int64) {
		if value != 0 {
			key(n)
			b = cboritem.AppendInt(b, value)
		}
	}
	text := func(n byte, value string) {
		if value != "" {
			key(n)
			b = cboritem.AppendText(b, value)
		}
	}
	text(1, m.CorrelationID)
	number(2, int64(m.SpecVersion))
	number(3, m.OccurredAt)
	text(4, m.ResumeID)
	if len(m.Data) > 0 {
		key(5)
		b = cboritem.AppendHead(b, cboritem.MajorArray, uint64(len(m.Data)))
		for _, one := range m.Data {
			b = cboritem.AppendBytes(b, one)
		}
	}
	number(6, int64(m.PayloadAt))
	if m.EmptyData {
		key(7)
		b = append(b, cboritem.True)
	}
	if len(m.ShortID) > 0 {
		key(8)
		b = cboritem.AppendBytes(b, m.ShortID)
	}
	return b
}

// decodeMeta reads the map. Its result refers to parts of encoded.
func decodeMeta(encoded []byte) (m meta, err error) {
	if m, ok := readMeta(encoded); ok {
		return m, nil
	}
	err = cbor.Unmarshal(encoded, &m)
	return m, err
}

func readMeta(encoded []byte) (m meta, ok bool) {
	r := cboritem.NewReader(encoded)
	last := int64(0)
	for range r.Count(cboritem.MajorMap) {
		key := r.Int()
		if key <= last {
			return m, false // we write them in order
		}
		last = key
		switch key {
		case 1:
			m.CorrelationID = string(r.Bytes(cboritem.MajorText))
		case 2:
			m.SpecVersion = int(r.Int())
		case 3:
			m.OccurredAt = r.Int()
		case 4:
			m.ResumeID = string(r.Bytes(cboritem.MajorText))
		case 5:
			n := r.Count(cboritem.MajorArray)
			m.Data = make([][]byte, 0, n)
			for range n {
				m.Data = append(m.Data, r.Bytes(cboritem.MajorBytes))
			}
		case 6:
			m.PayloadAt = int(r.Int())
		case 7:
			m.EmptyData = r.True()
		case 8:
			m.ShortID = r.Bytes(cboritem.MajorBytes)
		default:
			return m, false
		}
		if !r.OK() {
			return m, false
		}
	}
	return m, r.Done()
}

func (m meta) fields(payloadKey string, payload []byte) world.Fields {
	if m.EmptyData {
		return world.Fields{}
	}
	if len(m.Data) == 0 && len(payload) == 0 {
		return nil
	}
	out := make(world.Fields, 0, len(m.Data)/2+1)
	for i := 0; i < len(m.Data); i += 2 {
		out = append(out, world.Field{Key: longKey(m.Data[i]), Value: m.Data[i+1]})
	}
	if m.PayloadAt > 0 && len(payload) > 0 {
		at := min(m.PayloadAt-1, len(out))
		out = slices.Insert(out, at, world.Field{Key: payloadKey, Value: payload})
	}
	return out
}
