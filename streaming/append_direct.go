package streaming

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

const (
	// Units of so many bytes, and so many a chunk, go past Lua. Of smaller ones the transaction costs more
	// than the copies do; and from 32 KiB on Redis takes a value from the socket without a copy of its own.
	directBatch = 256 << 10
	directMean  = 32 << 10
	// contended stands for the tail of a stream that was not where it was expected: somebody else writes
	// to it, too. It is left to the script until that is forgotten, since chunks that are refused
	// have been sent for nothing.
	contended = -1
	// notAtTail is what the script says of chunks that cannot go in at the given index.
	notAtTail = 2
	// behindEnd is what it says of chunks that go in behind an end: they are the script's this once.
	behindEnd = 4
)

// How a unit of chunks goes in.
type way int

const (
	scripted way = iota // by the script alone
	direct              // it went past the script, or was refused by it
	missed              // by the script alone, for the end of the stream is not where it was expected
)

// areLarge reports whether chunks are to be stored past Lua.
func areLarge(chunks [][]byte) bool {
	size := 0
	for _, chunk := range chunks {
		size += len(chunk)
	}
	return size >= max(directBatch, len(chunks)*directMean)
}

// appendDirect stores a unit of chunks at the index tail by plain XADD, in one transaction with the
// script, which says before them whether they may go in and does after them what else belongs to an
// append. Their ids must be known beforehand, so the caller has to know the tail of the stream.
//
// If it is not there after all, or whatever else comes between, the unit is left to the script; what was
// stored then is stored once and for all, and the same unit by the script gets its answer.
func (s *Service) appendDirect(ctx context.Context, keys []string, head []any, chunks [][]byte, tail int64) (reply []any, how way) {
	second := keys[len(keys)-1]
	var open, commit *redis.Cmd
	_, err := s.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		open = s.scripts.append.Queue(ctx, tx, keys, slices.Concat(head, []any{"open", tail})...)
		for i, chunk := range chunks {
			id := s.minter.New()
			tx.XAdd(ctx, &redis.XAddArgs{
				Stream: second, NoMkStream: true, ID: chunkID(tail + int64(i)), Values: []any{"d", chunk, "u", id[:]},
			})
		}
		commit = s.scripts.append.Queue(ctx, tx, keys, slices.Concat(head, []any{"commit"})...)
		return nil
	})
	if reply, failed := open.Slice(); failed != nil || len(reply) == 0 || reply[0] == int64(notAtTail) {
		return nil, missed
	} else if reply[0] == int64(behindEnd) {
		return nil, scripted
	} else if reply[0] != int64(0) {
		return reply, direct // refused, or stored before: the XADD have found no stream
	}
	if reply, failed := commit.Slice(); err == nil && failed == nil {
		return reply, direct
	}
	return nil, missed
}
