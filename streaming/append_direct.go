package streaming

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

const (
	// Units of at least this many bytes, and this many per chunk, bypass Lua. For smaller ones the transaction costs
	// more than the copies. From 32 KiB on, Redis uses a value from the socket buffer without copying it.
	directBatch = 256 << 10
	directMean  = 32 << 10
	// contended stands for the tail of a stream that was not where it was expected, because another writer uses the
	// stream, too. The script stores its units until this is forgotten, because refused chunks were sent in vain.
	contended = -1
	// notAtTail is the script's answer for chunks that cannot be stored at the given index.
	notAtTail = 2
	// behindEnd is its answer for chunks that come after an end: the script stores this unit.
	behindEnd = 4
)

// How a unit of chunks is stored.
type way int

const (
	scripted way = iota // by the script alone
	direct              // without Lua, or refused by the script
	missed              // by the script alone, because the end of the stream is not where it was expected
)

// areLarge reports whether chunks are stored without Lua.
func areLarge(chunks [][]byte) bool {
	size := 0
	for _, chunk := range chunks {
		size += len(chunk)
	}
	return size >= max(directBatch, len(chunks)*directMean)
}

// appendDirect stores a unit of chunks at the index tail with plain XADD, in one transaction with the script. The
// script runs before them to decide whether they may be stored, and after them to do the rest of an append. The ids
// must be known beforehand, so the caller has to know the tail of the stream.
//
// If the tail is somewhere else, or anything else interferes, the script stores the unit. If the transaction did
// store it, the script finds that and returns its result.
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
		return reply, direct // refused, or stored before: the XADD calls found no stream
	}
	if reply, failed := commit.Slice(); err == nil && failed == nil {
		return reply, direct
	}
	return nil, missed
}
