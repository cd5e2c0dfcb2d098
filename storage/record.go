package storage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fxamacker/cbor/v2"
	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// An event is stored as <createdAt ms>[.]<kind><size>:<size bytes of meta><payload>.
//
// createdAt is put in front by the script that appends, with a point when the run's spec version is
// 6 or more, which makes the event's id another one (event_id.go). kind is one letter, the place of the
// type in kinds. meta is CBOR: all of the event but its payload. The payload, the one value
// of eventData that resolveData 'none' leaves out, follows as it was received, so that a
// script can cut it off without looking inside; one above splitAbove goes into a hash field
// of its own, and the letter is then in upper case.
const splitAbove = 1024

// kinds lists the types in the order of their letters, a on. It only ever grows at the end.
var kinds = []world.EventType{
	world.EventRunCreated, world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled,
	world.EventAttrSet, world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepCompleted,
	world.EventStepFailed, world.EventHookCreated, world.EventHookReceived, world.EventHookDisposed, world.EventHookConflict,
	world.EventWaitCreated, world.EventWaitCompleted, world.EventNoop,
	world.LegacyWorkflowStarted, world.LegacyWorkflowCompleted, world.LegacyWorkflowFailed,
}

// meta is the CBOR map of a record. Values of eventData are byte strings that hold CBOR, so
// that no decoder walks through them. What comes again and again in every run is short: see
// shortKey and shortID.
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

// dataKeys are the keys of eventData that are stored as one byte, their place in this list. It only
// ever grows at the end, and never to more than 32.
var dataKeys = []string{
	"deploymentId", "workflowName", "executionContext", "input", "stepName", "result", "output", "error", "errorCode", "stack",
	"attempt", "retryAfter", "token", "metadata", "payload", "resumeAt", "attributes", "changes", "writer", "isWebhook",
}

// shortKey returns a key of eventData as it is stored. One that looks like a short form, or like
// what escapes it, has a zero byte in front.
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
		return "", errRecord
	}
	return idKinds[short[0]] + ulid.ULID(short[1:]).String(), nil
}

// encodeRecord returns the record without createdAt, and the payload when it is split off.
func encodeRecord(e world.Event) (record, split []byte, err error) {
	kind := slices.Index(kinds, e.Type)
	if kind < 0 {
		return nil, nil, fmt.Errorf("no record letter for event type %q", e.Type)
	}
	m := meta{
		ShortID: shortID(e.CorrelationID), SpecVersion: e.SpecVersion, OccurredAt: int64(e.OccurredAt), ResumeID: e.ResumeID,
		EmptyData: e.Data != nil && len(e.Data) == 0,
	}
	if m.ShortID == nil {
		m.CorrelationID = e.CorrelationID
	}
	var payload world.Raw
	payloadKey := e.Type.PayloadKey()
	var pairs [8][]byte // mostly enough
	m.Data = pairs[:0]
	for i, f := range e.Data {
		if f.Key == payloadKey && payload == nil {
			payload, m.PayloadAt = f.Value, i+1
			continue
		}
		m.Data = append(m.Data, shortKey(f.Key), f.Value)
	}
	var room [256]byte
	encoded := m.append(room[:0])
	letter := byte('a' + kind)
	// Errors stay in the record: a list of runs or steps shows them even without payloads.
	if len(payload) > splitAbove && payloadKey != "error" {
		letter -= 'a' - 'A'
		split, payload = payload, nil
	}
	record = make([]byte, 0, 8+len(encoded)+len(payload))
	record = append(record, letter)
	record = strconv.AppendInt(record, int64(len(encoded)), 10)
	record = append(record, ':')
	record = append(record, encoded...)
	return append(record, payload...), split, nil
}

var errRecord = errors.New("an event record in Redis is damaged")

// decodeRecord reads a record as stored. A payload that was not fetched leaves its key out of
// the data, and data without any entry becomes nil, as resolveData 'none' asks.
func decodeRecord(runID string, position int, record string, split []byte) (world.Event, error) {
	e := world.Event{RunID: runID}
	digits := 0
	for digits < len(record) && record[digits] >= '0' && record[digits] <= '9' {
		digits++
	}
	created, err := strconv.ParseInt(record[:digits], 10, 64)
	if err != nil || digits == len(record) {
		return e, fmt.Errorf("%w: event %d of %s has no time", errRecord, position, runID)
	}
	e.CreatedAt = world.Millis(created)
	isSlot := record[digits] == '.'
	if isSlot {
		if digits++; digits == len(record) {
			return e, fmt.Errorf("%w: event %d of %s has no kind", errRecord, position, runID)
		}
	}
	e.EventID = eventID(runID, e.CreatedAt, position, isSlot)
	kind := int(record[digits]|0x20) - 'a'
	size, rest, ok := bytes.Cut([]byte(record[digits+1:]), []byte{':'})
	length, err := strconv.Atoi(string(size))
	if err != nil || !ok || length < 0 || length > len(rest) || kind < 0 || kind >= len(kinds) {
		return e, fmt.Errorf("%w: event %d of %s has a bad header", errRecord, position, runID)
	}
	e.Type = kinds[kind]
	m, err := decodeMeta(rest[:length])
	if err != nil {
		return e, fmt.Errorf("%w: event %d of %s: %w", errRecord, position, runID, err)
	}
	if len(m.Data)%2 != 0 {
		return e, fmt.Errorf("%w: event %d of %s has a key without a value", errRecord, position, runID)
	}
	if m.ShortID != nil {
		if m.CorrelationID, err = longID(m.ShortID); err != nil {
			return e, fmt.Errorf("%w: event %d of %s has a bad correlation id", errRecord, position, runID)
		}
	}
	e.CorrelationID, e.SpecVersion, e.ResumeID = m.CorrelationID, m.SpecVersion, m.ResumeID
	e.OccurredAt = world.Millis(m.OccurredAt)
	payload := rest[length:]
	if split != nil {
		payload = split
	}
	e.Data = m.fields(e.Type.PayloadKey(), payload)
	return e, nil
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

// decodeMeta reads the map; what it returns are parts of encoded.
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

// bareRecord is a record without its payload, as bare of lua/lib/log.lua; one that cannot be read stays what it is.
func bareRecord(record string) string {
	kind := strings.IndexFunc(record, unicode.IsLetter)
	size, _, ok := strings.Cut(record[kind+1:], ":")
	length, err := strconv.Atoi(size)
	end := kind + 1 + len(size) + 1 + length
	if kind < 0 || !ok || err != nil || length < 0 || end > len(record) {
		return record
	}
	return record[:end]
}
