package streaming

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/luascript"
)

// directBytes is the size of a stream's largest chunk from which its pages are read without a script. Lua copies the
// data twice more, which costs Redis several times as much as the read itself, and a script only saves one round
// trip.
const directBytes = 4 << 10

// wanted is a requested page.
type wanted struct {
	from   int64 // index of its first chunk
	most   int64 // chunks
	room   int64 // most bytes that they may have
	lent   bool  // they may be in memory that is given back
	before page  // an earlier page of the same stream, without its chunks; the zero page if none was read
}

// readOn reads a page. Stored chunks never change, so chunks that the earlier page counted can be read without the
// state, and none of them is larger than its largest.
//
// If the first chunk does not fit, the page has none, and largest says how much the next try needs.
func (s *Service) readOn(ctx context.Context, name string, w wanted) (page, error) {
	p, err := s.readStored(ctx, name, w)
	if err != nil {
		return page{}, err
	}
	return s.unlessEmptied(ctx, p)
}

// readStored reads what readOn does, whatever has happened to the run.
func (s *Service) readStored(ctx context.Context, name string, w wanted) (page, error) {
	if w.before.largest < directBytes {
		return s.readScripted(ctx, name, w.from, w.most, w.room)
	}
	keys := s.keys(name)
	known := w.before
	if w.from >= known.count {
		p, err := pageState(readPageState(ctx, s.client, keys), w.from)
		if err != nil {
			return page{}, redisError(ctx, err)
		}
		if w.from >= p.count || p.largest > w.room {
			return p, nil
		}
		known = p
	}
	last := min(known.count, w.from+min(w.most, max(1, w.room/max(1, known.largest))))
	p, err := s.readRows(ctx, keys, w.from, last, known.largest, w.lent)
	if err != nil || int64(len(p.chunks)) != last-w.from {
		// Purged, broken, moved to another node, or Redis cannot be reached: the script finds out.
		p.giveBack()
		return s.readScripted(ctx, name, w.from, w.most, w.room)
	}
	return p, nil
}

// readRows reads the state, and the chunks from index from to before last. Pages with a chunk larger than themselves
// are not read into lent memory, which would grow permanently.
func (s *Service) readRows(ctx context.Context, keys streamKeys, from, last, largest int64, lent bool) (page, error) {
	var memory *bytes.Buffer
	if lent && largest <= int64(s.config.PageBytes) {
		memory = borrow(int(last-from), int((last-from)*largest))
	}
	var state *redis.SliceCmd
	rows := redis.NewCmd(ctx, "XRANGE", keys.stream, chunkID(from), chunkID(last-1))
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		// The state is read after the chunks. If it says nothing of the run's end, it is newer than they are.
		defer func() { state = readPageState(ctx, pipe, keys) }()
		if memory != nil {
			return pipe.Process(ctx, redis.NewRawWriteToCmd(ctx, memory, rows.Args()...))
		}
		return pipe.Process(ctx, rows)
	})
	if err != nil {
		return page{memory: memory}, err
	}
	p, err := pageState(state, from)
	p.memory = memory
	switch {
	case err != nil:
		return p, err
	case memory != nil:
		if !p.addRows(from, memory.Bytes()) {
			return p, badReply(fmt.Errorf("XRANGE replied %.40q", memory.Bytes()))
		}
		return p, nil
	}
	for i, row := range rows.Val().([]any) { //nolint:forcetypeassert // what XRANGE replies, without an error
		data, err := chunkBytes(row)
		if err != nil {
			return p, err
		}
		p.add(from+int64(i), data)
	}
	return p, nil
}

// chunkID returns the id of a chunk's record.
func chunkID(index int64) string { return strconv.FormatInt(index+1, 10) + "-0" }

func readPageState(ctx context.Context, c redis.Cmdable, keys streamKeys) *redis.SliceCmd {
	return c.HMGet(ctx, keys.meta, "n", "eof", "mx", "ie", "z")
}

func pageState(read *redis.SliceCmd, from int64) (page, error) {
	fields, err := read.Result()
	if err != nil {
		return page{}, err
	}
	count, err := number(fields[0])
	if err != nil {
		return page{}, badReply(err)
	}
	ends, _ := fields[3].(string)
	p := page{view: viewFrom(from, view{count: count, done: fields[1] != nil}, ends), empties: empties(fields[4])}
	if p.largest, err = number(fields[2]); err != nil {
		return page{}, badReply(err)
	}
	return p, nil
}

// chunkBytes returns the chunk in a record, [id, [d, bytes, …]].
func chunkBytes(row any) (string, error) {
	record, ok := row.([]any)
	if !ok || len(record) != 2 {
		return "", badReply(luascript.ErrShortReply)
	}
	fields, ok := record[1].([]any)
	if !ok || len(fields) < 2 || fields[0] != "d" {
		return "", badReply(fmt.Errorf("a record has the fields %T", record[1]))
	}
	data, ok := fields[1].(string)
	if !ok {
		return "", badReply(fmt.Errorf("a chunk is %T", fields[1]))
	}
	return data, nil
}
