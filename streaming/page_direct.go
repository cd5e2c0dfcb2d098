package streaming

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/luascript"
)

// directBytes is the size of a stream's largest chunk from which on its pages are not read by
// script: what passes through Lua is copied twice more, which costs Redis several times what the
// reading itself does, while a script saves nothing but a round trip.
const directBytes = 4 << 10

// readOn reads the page from index from on of a stream of which a page was read before. Chunks that
// were counted never change, so those that the earlier page tells of need no state of the same
// moment; and none of them is larger than what it tells.
func (s *Service) readOn(ctx context.Context, name string, from int64, before page) (page, error) {
	if before.largest < directBytes {
		return s.readPage(ctx, name, from, pageChunks, s.config.PageBytes)
	}
	keys := s.keys(name)
	if from >= before.count {
		p, err := pageState(readPageState(ctx, s.client, keys), from)
		if err != nil {
			return page{}, redisError(ctx, err)
		}
		if from >= p.count {
			return p, nil
		}
		before = p
	}
	last := min(before.count, from+min(pageChunks, max(1, int64(s.config.PageBytes)/max(1, before.largest))))
	p, err := s.readRows(ctx, keys, from, last, before.largest)
	if err != nil || int64(len(p.chunks)) != last-from {
		// Purged, broken, moved to another node, or Redis is away: the script can tell.
		p.giveBack()
		return s.readPage(ctx, name, from, pageChunks, s.config.PageBytes)
	}
	return p, nil
}

// readRows reads the state and the chunks from index from on and before last. Pages with a chunk
// larger than themselves are not read into lent memory, which would grow for good.
func (s *Service) readRows(ctx context.Context, keys streamKeys, from, last, largest int64) (page, error) {
	var memory *bytes.Buffer
	if largest <= int64(s.config.PageBytes) {
		memory = borrow(int(last-from), int((last-from)*largest))
	}
	var state *redis.SliceCmd
	rows := redis.NewCmd(ctx, "XRANGE", keys.stream, chunkID(from), chunkID(last-1))
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		state = readPageState(ctx, pipe, keys)
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

// chunkID is the id of a chunk's record.
func chunkID(index int64) string { return strconv.FormatInt(index+1, 10) + "-0" }

func readPageState(ctx context.Context, c redis.Cmdable, keys streamKeys) *redis.SliceCmd {
	return c.HMGet(ctx, keys.meta, "n", "eof", "mx", "ie")
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
	p := page{view: viewFrom(from, view{count: count, done: fields[1] != nil}, ends)}
	if p.largest, err = number(fields[2]); err != nil {
		return page{}, badReply(err)
	}
	return p, nil
}

// chunkBytes takes a chunk out of a record, [id, [d, bytes, …]].
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
