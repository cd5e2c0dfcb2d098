package streaming

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// state is what a stream's meta says.
type state struct {
	keys  streamKeys
	count int64        // of chunks
	done  bool         // the end is recorded
	last  world.Millis // when the last chunk came; 0: none did, or not since this is kept
	run   string       // that the stream belongs to; empty: unknown
}

func readState(ctx context.Context, c redis.Cmdable, keys streamKeys) *redis.SliceCmd {
	return c.HMGet(ctx, keys.meta, "n", "eof", "t", "r")
}

func stateOf(keys streamKeys, run string, read *redis.SliceCmd) (state, error) {
	fields, err := read.Result()
	if err != nil {
		return state{}, err
	}
	st := state{keys: keys, done: fields[1] != nil, run: run}
	var errs [2]error
	st.count, errs[0] = number(fields[0])
	last, err := number(fields[2])
	st.last, errs[1] = world.Millis(last), err
	if kept, ok := fields[3].(string); ok && run == "" {
		st.run = kept
	}
	if err := errors.Join(errs[:]...); err != nil {
		return state{}, badReply(err)
	}
	return st, nil
}

func number(field any) (int64, error) {
	text, ok := field.(string)
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// state reads a stream's state, and ends the stream first if its run is over.
func (s *Service) state(ctx context.Context, name string) (state, error) {
	keys := s.keys(name)
	st, err := stateOf(keys, ownerOf(name), readState(ctx, s.client, keys))
	if err != nil {
		return st, redisError(ctx, err)
	}
	if st.done {
		return st, nil
	}
	open := []state{st}
	if err := s.endOrphans(ctx, open); err != nil {
		return st, err
	}
	return open[0], nil
}
