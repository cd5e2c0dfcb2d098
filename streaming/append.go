package streaming

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/internal/replicated"
)

// One script call stores at most this much, so that no call blocks Redis for long.
const (
	batchChunks = 1000
	batchBytes  = 8 << 20
)

// AppendChunks implements [world.StreamStore]. Up to 1,000 chunks and 8 MiB are stored as one unit. More are stored
// in order in several units, and other writers' chunks or a close may come between them. A stream whose run has ended
// is written like any other. After a recorded end, only the step that recorded it writes, or any step if that step is
// no longer in any log.
//
// A repeat with the same RequestID within ten minutes, or with the same WriterID and Sequence at any time, adds
// nothing. Chunks that are too large, or too many for the stream, are refused before any chunk of the call is stored.
// A writer's repeat gets the index -1 if other writers' chunks came in since and its index is no longer known. A
// Sequence beyond the writer's next one is refused with CodeConflict, because the missing chunks could not be stored
// later.
func (s *Service) AppendChunks(ctx context.Context, a world.Append) (int64, error) {
	if err := s.checkAppend(a); err != nil {
		return 0, err
	}
	if a.RequestID == "" {
		a.RequestID = s.minter.New().String()
	}
	if len(a.Chunks) == 0 { // like a call whose chunks were all stored
		return s.appendBatch(ctx, a, nil, 0, onlyCheck)
	}
	if !s.isListed(a.RunID, a.Name) {
		// A refused call must not leave the stream's name in the run's list.
		if _, err := s.appendBatch(ctx, a, a.Chunks[:batchLength(a.Chunks)], 0, onlyCheck); err != nil {
			return 0, err
		}
		if err := s.list(ctx, a.RunID, a.Name); err != nil {
			return 0, err
		}
	}
	first := int64(0)
	for part := 0; len(a.Chunks) > 0; part++ {
		n := batchLength(a.Chunks)
		index, err := s.appendBatch(ctx, a, a.Chunks[:n], part, store)
		if err != nil {
			return 0, err
		}
		if part == 0 {
			first = index
		}
		a.Chunks, a.Sequence = a.Chunks[n:], a.Sequence+int64(n)
	}
	// If another master stored the chunks, it may lack the list entry that the former master had.
	if err := s.list(ctx, a.RunID, a.Name); err != nil {
		return 0, err
	}
	return first, nil
}

func (s *Service) checkAppend(a world.Append) error {
	if err := checkName(a.Name); err != nil {
		return err
	}
	if a.WriterID != "" && a.Sequence < 0 {
		return world.Errorf(world.CodeInvalid, "a writer's sequence must not be negative, it is %d", a.Sequence)
	}
	if err := checkSteps(a.Steps); err != nil {
		return err
	}
	for _, chunk := range a.Chunks {
		if len(chunk) > s.config.MaxChunk {
			return world.Errorf(world.CodeTooLarge, "a chunk has at most %d bytes, not %d", s.config.MaxChunk, len(chunk))
		}
	}
	return nil
}

// batchLength returns how many leading chunks fit into one script call; at least one.
func batchLength(chunks [][]byte) int {
	size := 0
	for i, chunk := range chunks {
		size += len(chunk)
		if i == batchChunks || i > 0 && size > batchBytes {
			return i
		}
	}
	return len(chunks)
}

// What appendBatch does with chunks that are not refused.
const (
	onlyCheck = false
	store     = true
)

func (s *Service) appendBatch(ctx context.Context, a world.Append, chunks [][]byte, part int, store bool) (int64, error) {
	keys, head := s.appendCall(a, chunks, part)
	call := func() (reply []any, err error) {
		if store {
			reply, err = s.storeBatch(ctx, a.Name, keys, head, chunks)
		} else {
			reply, err = s.scripts.append.Run(ctx, s.client, keys, append(head, "check")...)
		}
		if err != nil {
			return nil, redisError(ctx, err)
		}
		return reply, nil
	}
	reply, err := call()
	if err == nil && isClosed(reply) {
		var gone string
		if gone, err = s.closedByGone(ctx, a); gone != "" {
			head[len(head)-1] = gone
			reply, err = call()
		}
	}
	if err != nil {
		return 0, err
	}
	return s.readAppendReply(a, reply)
}

// isClosed reports whether chunk_append has refused chunks because the stream is closed.
func isClosed(reply []any) bool { return len(reply) == 1 && reply[0] == int64(-1) }

// storeBatch stores a unit without Lua if it is large and the end of the stream is known from the unit before.
// Otherwise the script stores it. It returns the script's reply.
func (s *Service) storeBatch(ctx context.Context, name string, keys []string, head []any, chunks [][]byte) (reply []any, err error) {
	now := s.clock.Now()
	tail, known := s.tails.get(name, now)
	how := scripted
	// A transaction cannot wait for replicas.
	if known && tail != contended && areLarge(chunks) && !replicated.IsWanted(ctx) {
		reply, how = s.appendDirect(ctx, keys, head, chunks, tail)
		if how == missed {
			tail = contended
			s.tails.put(name, tail, now)
		}
	}
	if how != direct {
		args := slices.Grow(append(head, "store"), 2*len(chunks))
		for _, chunk := range chunks {
			id := s.minter.New()
			args = append(args, chunk, id[:])
		}
		if reply, err = s.scripts.append.Run(ctx, s.client, keys, args...); err != nil {
			return nil, err // also if only the replicas are missing: the repeat learns where the end is
		}
	}
	if len(reply) == 2 && reply[0] == int64(0) && tail != contended {
		first, _ := reply[1].(int64)
		s.tails.put(name, first+int64(len(chunks)), now)
	}
	return reply, nil
}

// appendCall returns the keys of chunk_append, and its arguments except what it is to do.
func (s *Service) appendCall(a world.Append, chunks [][]byte, part int) (keys []string, head []any) {
	named, buckets := s.keys(a.Name), s.requestKeys(a.Name, s.clock.Now())
	// A writer's own numbering lasts longer than the request records, so those are not needed.
	request := []byte{}
	if a.WriterID == "" {
		request = requestDigest(a.RequestID, part)
	}
	largest := 0
	for _, chunk := range chunks {
		largest = max(largest, len(chunk))
	}
	return []string{named.stream, named.meta, named.channel, buckets[0], buckets[1], buckets[2], named.second},
		[]any{
			request, int(requestTTL.Seconds()), a.WriterID, a.Sequence, largest, s.clock.Now().UnixMilli(),
			keptOwner(a.Name, a.RunID), s.config.MaxChunks - int64(len(a.Chunks)-len(chunks)), len(chunks),
			stepList(a.Steps), int(lifeOf(a.Name).Seconds()), noneGone,
		}
}

func (s *Service) readAppendReply(a world.Append, reply []any) (int64, error) {
	numbers, err := integers(reply)
	if err != nil {
		return 0, err
	}
	switch {
	case len(numbers) == 2 && (numbers[0] == 0 || numbers[0] == 1):
		return numbers[1], nil
	case isClosed(reply):
		return 0, closed(a.Name)
	case len(numbers) == 2 && numbers[0] == -2:
		return 0, world.Errorf(world.CodeConflict, "writer %q continues with sequence %d, not %d", a.WriterID, numbers[1], a.Sequence)
	case len(numbers) == 2 && numbers[0] == -3:
		return 0, world.Errorf(world.CodeTooLarge, "the stream %q has %d chunks, and at most %d go into a stream", a.Name, numbers[1], s.config.MaxChunks)
	}
	return 0, badReply(fmt.Errorf("chunk_append replied %v", numbers))
}

// requestDigest returns the 16 bytes by which Redis remembers a request id of any length.
func requestDigest(requestID string, part int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", part, requestID))
	return sum[:16]
}

func closed(name string) error {
	return world.Errorf(world.CodeStreamClosed, "the stream %q is closed", name)
}

func integers(reply []any) ([]int64, error) {
	numbers := make([]int64, len(reply))
	for i, v := range reply {
		n, err := luascript.Int(v)
		if err != nil {
			return nil, badReply(err)
		}
		numbers[i] = n
	}
	return numbers, nil
}

func badReply(err error) error {
	return world.Wrap(world.CodeInternal, err, "Redis sent an unexpected reply")
}
