package redisfault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisfault"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/replicated"
)

type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestSentences(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6379}, Err: errors.New("connect: connection refused")}
	for _, c := range []struct {
		err      error
		sentence string
		passing  bool
	}{
		{answer("LOADING Redis is loading the dataset in memory"), "Redis is loading its data", true},
		{answer("OOM command not allowed when used memory > 'maxmemory'. script: 5e1, on @user_script:1."), "Redis is out of memory", true},
		{answer("ERR Error running script (call to f_5e1): @user_script:1: @user_script: 1: -OOM command not allowed"), "Redis is out of memory", true},
		{answer("MISCONF Redis is configured to save RDB snapshots"), "Redis cannot save its data and refuses writes", true},
		{answer("ERR Error running script (call to f_5e1): @user_script:1: -MISCONF Redis is configured"), "Redis cannot save its data and refuses writes", true},
		{answer("NOREPLICAS Not enough good replicas to write."), "Redis has too few replicas and refuses writes", true},
		{answer("BUSY Redis is busy running a script."), "Redis is busy with a script", true},
		{answer("BUSYGROUP Consumer Group name already exists"), "Redis refused the call (BUSYGROUP)", false},
		{answer("ERR max number of clients reached"), "Redis accepts no more connections", true},
		{answer("NOPERM this user has no permissions"), "Redis refused the call (NOPERM)", false},
		{fmt.Errorf("read: %w", io.EOF), "Redis is not reachable", true},
		{refused, "Redis is not reachable", true},
		{context.DeadlineExceeded, "Redis did not answer in time", true},
		{redis.ErrPoolTimeout, "Redis did not answer in time", true},
		{fmt.Errorf("script s: %w", &replicated.Error{Confirmed: 1, Wanted: 2}), "1 of 2 replicas of Redis confirmed the write in time", true},
		{&replicated.Error{Wanted: 1, Cause: answer("NOREPLICAS Not enough good replicas to write.")}, "Redis has too few replicas and refuses writes", true},
		{&replicated.Error{Wanted: 1, Cause: answer("NOPERM User app has no permissions to run the 'wait' command")}, "the replicas of Redis could not be asked: Redis refused the call (NOPERM)", true},
		{errors.New("a mistake of ours"), "Redis does not answer", false},
	} {
		sentence, ok := redisfault.Passing(c.err)
		require.Equal(t, c.passing, ok, c.err)
		if ok {
			require.Equal(t, c.sentence, sentence)
		}
		require.Equal(t, c.sentence, redisfault.Sentence(c.err))
	}
}

// The error of a real Redis for a script when its memory is used up.
func TestSentenceOfARealRedis(t *testing.T) {
	t.Parallel()
	client := redistest.Client(t, redistest.Start(t, "--maxmemory", "1").Addr)
	for _, err := range []error{
		client.Set(t.Context(), "k", "v", 0).Err(),
		client.Eval(t.Context(), "return redis.call('SET', KEYS[1], 'v')", []string{"k"}).Err(),
	} {
		require.Equal(t, "Redis is out of memory", redisfault.Sentence(err))
	}
}
