package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/world-redis/world-redis"
)

// An event is stored as <createdAt ms>[.]<kind><size>:<size bytes of meta><payload>.
//
// The script that appends the event adds createdAt, with a point if the run's spec version is 6 or more, which says how the
// event's id is made (event_id.go). kind is one letter, the index of the type in kinds. meta is CBOR: all of the event but its
// payload. The payload is the one value of eventData that resolveData 'none' leaves out. It follows as it was received, so a
// script can cut it off without looking inside. One larger than SplitAbove bytes is stored in a hash field of its own, and kind
// is then in upper case.

// SplitAbove is how many bytes of payload a record has at most.
const SplitAbove = 1024

// kinds lists the types in the order of their letters, a on. It only ever grows at the end.
var kinds = []world.EventType{
	world.EventRunCreated, world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled,
	world.EventAttrSet, world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepCompleted,
	world.EventStepFailed, world.EventHookCreated, world.EventHookReceived, world.EventHookDisposed, world.EventHookConflict,
	world.EventWaitCreated, world.EventWaitCompleted, world.EventNoop,
	world.LegacyWorkflowStarted, world.LegacyWorkflowCompleted, world.LegacyWorkflowFailed,
}

// Encode returns the record without createdAt, and the payload when it is split off.
func Encode(e world.Event) (record, split []byte, err error) {
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
	var pairs [8][]byte // usually enough
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
	if len(payload) > SplitAbove && payloadKey != "error" {
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

// ErrDamaged is the cause of every error of this package.
var ErrDamaged = errors.New("an event record in Redis is damaged")

// Decode reads a record as stored. A payload that was not fetched leaves its key out of
// the data, and data without any entry becomes nil, as resolveData 'none' asks.
func Decode(runID string, position int, record string, split []byte) (world.Event, error) {
	e := world.Event{RunID: runID}
	digits := 0
	for digits < len(record) && record[digits] >= '0' && record[digits] <= '9' {
		digits++
	}
	created, err := strconv.ParseInt(record[:digits], 10, 64)
	if err != nil || digits == len(record) {
		return e, fmt.Errorf("%w: event %d of %s has no time", ErrDamaged, position, runID)
	}
	e.CreatedAt = world.Millis(created)
	isSlot := record[digits] == '.'
	if isSlot {
		if digits++; digits == len(record) {
			return e, fmt.Errorf("%w: event %d of %s has no kind", ErrDamaged, position, runID)
		}
	}
	e.EventID = EventID(runID, e.CreatedAt, position, isSlot)
	kind := int(record[digits]|0x20) - 'a'
	size, rest, ok := bytes.Cut([]byte(record[digits+1:]), []byte{':'})
	length, err := strconv.Atoi(string(size))
	if err != nil || !ok || length < 0 || length > len(rest) || kind < 0 || kind >= len(kinds) {
		return e, fmt.Errorf("%w: event %d of %s has a bad header", ErrDamaged, position, runID)
	}
	e.Type = kinds[kind]
	m, err := decodeMeta(rest[:length])
	if err != nil {
		return e, fmt.Errorf("%w: event %d of %s: %w", ErrDamaged, position, runID, err)
	}
	if len(m.Data)%2 != 0 {
		return e, fmt.Errorf("%w: event %d of %s has a key without a value", ErrDamaged, position, runID)
	}
	if m.ShortID != nil {
		if m.CorrelationID, err = longID(m.ShortID); err != nil {
			return e, fmt.Errorf("%w: event %d of %s has a bad correlation id", ErrDamaged, position, runID)
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

// Bare returns a record without its payload, like bare in lua/lib/log.lua. A record that cannot be read is returned as it is.
func Bare(record string) string {
	kind := strings.IndexFunc(record, unicode.IsLetter)
	size, _, ok := strings.Cut(record[kind+1:], ":")
	length, err := strconv.Atoi(size)
	end := kind + 1 + len(size) + 1 + length
	if kind < 0 || !ok || err != nil || length < 0 || end > len(record) {
		return record
	}
	return record[:end]
}

// Stored is an event as it stands in the log.
type Stored struct {
	Event    world.Event
	Position string
	Note     int  // attempt, with replayed step events
	Replayed bool // applied by an earlier call with the same request id
}
