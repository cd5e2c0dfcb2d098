package redisconn

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// entry is one key in the file.
type entry struct {
	_       struct{} `cbor:",toarray"`
	Kind    string
	Key     []byte
	Expires int64    // milliseconds since 1970; 0: never
	Values  [][]byte // of a hash: fields and values; of a sorted set: members and scores; of a stream: see flatten
}

// entryOf reads one row of dumpScript's reply.
func entryOf(row any, now time.Time) (entry, error) {
	fields, ok := row.([]any)
	if !ok || len(fields) != 4 {
		return entry{}, errors.New("the embedded Redis gave its data in an unknown form")
	}
	key, isKey := fields[0].(string)
	kind, isKind := fields[1].(string)
	ttl, isTTL := fields[2].(int64)
	values, isList := fields[3].([]any)
	if !isKey || !isKind || !isTTL || !isList {
		return entry{}, errors.New("the embedded Redis gave its data in an unknown form")
	}
	e := entry{Kind: kind, Key: []byte(key)}
	if ttl >= 0 {
		e.Expires = now.UnixMilli() + max(ttl, 1)
	}
	for _, value := range values {
		flat, err := flatten(value)
		if err != nil {
			return entry{}, fmt.Errorf("the key %q: %w", key, err)
		}
		e.Values = append(e.Values, flat...)
	}
	return e, nil
}

// flatten returns a string as it is, and an entry of a stream as its id, the number of its strings, and these.
func flatten(value any) ([][]byte, error) {
	if text, ok := value.(string); ok {
		return [][]byte{[]byte(text)}, nil
	}
	pair, ok := value.([]any)
	if !ok || len(pair) != 2 {
		return nil, fmt.Errorf("a value of the type %T", value)
	}
	id, isText := pair[0].(string)
	fields, isList := pair[1].([]any)
	if !isText || !isList {
		return nil, errors.New("an unknown form of a stream's entry")
	}
	out := [][]byte{[]byte(id), []byte(strconv.Itoa(len(fields)))}
	for _, field := range fields {
		text, ok := field.(string)
		if !ok {
			return nil, fmt.Errorf("a field of the type %T", field)
		}
		out = append(out, []byte(text))
	}
	return out, nil
}

var errShortEntry = errors.New("it has too few values")

func (e *entry) restore(server *miniredis.Miniredis) error {
	key, values := string(e.Key), make([]string, len(e.Values))
	for i, value := range e.Values {
		values[i] = string(value)
	}
	if len(values) == 0 || (e.Kind == "hash" || e.Kind == "zset") && len(values)%2 != 0 {
		return errShortEntry
	}
	switch e.Kind {
	case "string":
		return server.Set(key, values[0])
	case "hash":
		server.HSet(key, values...)
		return nil
	case "list":
		_, err := server.Push(key, values...)
		return err
	case "set":
		_, err := server.SetAdd(key, values...)
		return err
	case "zset":
		for i := 0; i < len(values); i += 2 {
			score, err := strconv.ParseFloat(values[i+1], 64)
			if err != nil {
				return err
			}
			if _, err := server.ZAdd(key, score, values[i]); err != nil {
				return err
			}
		}
		return nil
	case "stream":
		return restoreStream(server, key, values)
	default:
		return fmt.Errorf("the type %.20q is unknown", e.Kind)
	}
}

func restoreStream(server *miniredis.Miniredis, key string, values []string) error {
	for len(values) > 0 {
		if len(values) < 2 {
			return errShortEntry
		}
		n, err := strconv.Atoi(values[1])
		if err != nil || n < 0 || n > len(values)-2 {
			return errShortEntry
		}
		if _, err := server.XAdd(key, values[0], values[2:2+n]); err != nil {
			return err
		}
		values = values[2+n:]
	}
	return nil
}
