package storage

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// Redis builds a whole reply before it sends it, and a script holds its reply once more. So a reply has little room for values. A
// value that does not fit is replaced by its length, and is read here, in portions.
const (
	// pageBytes is about how many bytes the values in one page of a list may take. A single larger entry is a page of its own.
	pageBytes = 8 << 20
	// deltaBytes is the same for events and entities that come with an answer (DELTA_BYTES in lua/lib/event.lua).
	deltaBytes = 4 << 20
	// portionBytes is what one reply may take.
	portionBytes = 1 << 20
	// portionCommands bounds a portion of small values.
	portionCommands = 1_000
	// entryRoom is how many bytes of a reply one entry of a list takes at most; less if there are many entries.
	entryRoom = 64 << 10
	// headsAtOnce is how many entries are read in one pipeline.
	headsAtOnce = 250
	// portionsBytes is how many bytes all portions that a store reads at a time may take. A larger one is read alone.
	portionsBytes = 16 << 20
)

// roomOf is how many bytes of the reply to one pipeline each of the entries may take.
func roomOf(entries int) int { return min(entryRoom, portionBytes/max(1, entries)) }

// gap is a value that a reply has the length of.
type gap struct {
	key, field string // where it stands
	size       int
	bare       bool // of a record: without the payload at its end
	into       *any // its place in the reply; set to nil if the value is gone
}

// fill reads the values of gaps, after it has asked for room for all of them (world.Room).
func (s *Store) fill(ctx context.Context, gaps []gap) error {
	if len(gaps) == 0 {
		return nil
	}
	total := 0
	for _, g := range gaps {
		total += g.size
	}
	if err := world.MakeRoom(ctx, int64(total)); err != nil {
		return err
	}
	for len(gaps) > 0 {
		n, size := 0, 0
		for n < len(gaps) && n < portionCommands && (n == 0 || size+gaps[n].size <= portionBytes) {
			size += gaps[n].size
			n++
		}
		if err := s.fillPortion(ctx, gaps[:n], size); err != nil {
			return err
		}
		gaps = gaps[n:]
	}
	return nil
}

func (s *Store) fillPortion(ctx context.Context, gaps []gap, size int) error {
	weight := int64(min(size, portionsBytes))
	if err := s.portions.Acquire(ctx, weight); err != nil {
		return err
	}
	defer s.portions.Release(weight)
	cmds, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, g := range gaps {
			p.HGet(ctx, g.key, g.field)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return fail(err)
	}
	for i, cmd := range cmds {
		value, err := cmd.(*redis.StringCmd).Result()
		switch {
		case errors.Is(err, redis.Nil):
			*gaps[i].into = nil // the run has ended and keeps nothing
		case err != nil:
			return fail(err)
		case gaps[i].bare:
			*gaps[i].into = record.Bare(value)
		default:
			*gaps[i].into = value
		}
	}
	return nil
}

// measure is how many bytes values in replies take, and which values are missing.
type measure struct {
	bytes int
	gaps  []gap
}

// value counts one value of a reply. field is called only for a value that is missing.
func (m *measure) value(at *any, key string, field func() string) {
	switch v := (*at).(type) {
	case string:
		m.bytes += len(v)
	case int64: // negative: load_record of lua/lib/log.lua says what that means
		size := int(max(v, -v))
		m.bytes += size
		m.gaps = append(m.gaps, gap{key: key, field: field(), size: size, bare: v < 0, into: at})
	}
}

// record counts a record and its payload, which stand one after the other from element i of a reply on.
func (m *measure) record(events string, field func() string, r record.Reply, i int) {
	if i < len(r) {
		m.value(&r[i], events, field)
	}
	if i+1 < len(r) {
		m.value(&r[i+1], events, func() string { return field() + "/p" })
	}
}

// refs counts {position, record, payload, ...}.
func (m *measure) refs(events string, r record.Reply) {
	for i := 0; i+2 < len(r); i += record.FieldsARelation {
		m.record(events, func() string { return r.Text(i) }, r, i+1)
	}
}

// log counts {record, payload, ...} of the events from position first on, which are step apart.
func (m *measure) log(events string, first, step int, r record.Reply) {
	for i := 0; i+1 < len(r); i += fieldsAnEvent {
		m.record(events, func() string { return strconv.Itoa(first + step*(i/fieldsAnEvent)) }, r, i)
	}
}

// entity counts the reply of add_entity() in lua/lib/entity.lua for the entity in the hash key.
func (m *measure) entity(key, events string, r record.Reply) {
	fields := record.FieldsOf(r)
	for i := 0; i+1 < fields; i += 2 {
		m.value(&r[i+1], key, func() string { return r.Text(i) })
	}
	m.refs(events, r.After(fields))
}
