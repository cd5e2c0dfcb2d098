package streaming

import (
	"bytes"
	"context"
	"fmt"
	"unsafe"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// page is a snapshot: some chunks, and the state of the stream at the same time, for a reader that starts at the
// first of them.
type page struct {
	chunks []world.Chunk
	view
	largest int64         // bytes of the largest chunk
	empties string        // run that may keep nothing; empty if none
	memory  *bytes.Buffer // holds the chunks, if the memory is lent
}

// readScripted reads, with the script, up to most chunks from index from on, up to budget bytes together. If the first
// of them does not fit, the page has none, and largest says how much it may need: such a chunk is read without Lua.
func (s *Service) readScripted(ctx context.Context, name string, from, most, budget int64) (page, error) {
	keys := s.keys(name)
	reply, err := s.scripts.page.Run(ctx, s.client, []string{keys.stream, keys.meta}, from, most, budget)
	if err != nil {
		return page{}, redisError(ctx, err)
	}
	if len(reply) == 1 {
		return page{}, world.Errorf(world.CodeInternal, "chunks of the stream %q are missing in Redis", name)
	}
	if len(reply) < 6 {
		return page{}, badReply(luascript.ErrShortReply)
	}
	state, err := integers(reply[:5])
	if err != nil {
		return page{}, err
	}
	p := page{view: view{count: state[1], done: state[2] == 1, next: state[4]}, largest: state[3], empties: empties(reply[5])}
	for i, v := range reply[6:] {
		data, ok := v.(string)
		if !ok {
			return page{}, badReply(fmt.Errorf("chunk_page replied %T for a chunk", v))
		}
		p.add(from+int64(i), data)
	}
	return p, nil
}

// size is the number of bytes of the chunks.
func (p *page) size() int64 {
	total := 0
	for _, chunk := range p.chunks {
		total += len(chunk.Data)
	}
	return int64(total)
}

// held is the memory that they take, in bytes.
func (p *page) held() int64 {
	if p.memory != nil {
		return int64(p.memory.Cap())
	}
	return p.size()
}

// add takes the bytes of a reply without copying them: nothing else refers to them, and nobody may change a chunk.
func (p *page) add(index int64, data string) {
	chunk := world.Chunk{Index: index, Data: []byte{}}
	if data != "" {
		chunk.Data = unsafe.Slice(unsafe.StringData(data), len(data)) //nolint:gosec // see above
	}
	p.chunks = append(p.chunks, chunk)
}
