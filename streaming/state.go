package streaming

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// state is the content of a stream's meta, and what follows from the end of its run.
type state struct {
	keys  streamKeys
	count int64        // of chunks and inner ends
	done  bool         // the end is recorded
	ends  string       // the inner ends
	last  world.Millis // when the last chunk was stored; 0 if never, or before this was recorded
	run   string       // that the stream belongs to; empty if unknown

	empties string // run that may keep nothing; empty if none

	over bool // its run has ended and it is quiet
	gone bool // there is no such run
}

// records is the number that doorbells announce.
func (st state) records() int64 {
	if st.done {
		return st.count + 1
	}
	return st.count
}

// from returns the state for a reader that starts at from.
func (st state) from(from int64) view {
	return viewFrom(from, view{count: st.count, done: st.done || st.over}, st.ends)
}

func readState(ctx context.Context, c redis.Cmdable, keys streamKeys) *redis.SliceCmd {
	return c.HMGet(ctx, keys.meta, "n", "eof", "t", "r", "ie", "z")
}

func stateOf(keys streamKeys, read *redis.SliceCmd) (state, error) {
	fields, err := read.Result()
	if err != nil {
		return state{}, err
	}
	st := state{keys: keys, done: fields[1] != nil, run: ownerOf(keys.name)}
	var errs [2]error
	st.count, errs[0] = number(fields[0])
	last, err := number(fields[2])
	st.last, errs[1] = world.Millis(last), err
	if kept, ok := fields[3].(string); ok && st.run == "" {
		st.run = kept
	}
	st.ends, _ = fields[4].(string)
	st.empties = empties(fields[5])
	if st.run == "" {
		st.run = st.empties
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

// look reads a stream's state, including what follows from the end of its run. A stream that seems over is over only
// if a second look confirms it, see [Service.settled]. If the run does not exist, it returns CodeRunNotFound.
func (s *Service) look(ctx context.Context, name string) (state, error) {
	keys := s.keys(name)
	st, err := stateOf(keys, readState(ctx, s.client, keys))
	if err != nil {
		return st, redisError(ctx, err)
	}
	if st.done && st.empties == "" {
		return st, s.checkRun(ctx, ownerOf(name))
	}
	open := []state{st}
	if err := s.askRuns(ctx, open); err != nil {
		return st, err
	}
	if st = open[0]; st.gone {
		return st, world.RunNotFound(st.run)
	}
	return st, nil
}
