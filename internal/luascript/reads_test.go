package luascript

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A script counts as writing unless it certainly only reads.
func TestOnlyReads(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		`return redis.call('GET', KEYS[1])`:                                true,
		`local a = redis.call( 'HMGET', KEYS[1]) redis.pcall('ZRANGE', k)`: true,
		`return 1`: true,
		`redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], 1)`:            false,
		`redis.call('PUBLISH', KEYS[1], 1)`:                                   false,
		`local c = 'GET' return redis.call(c, KEYS[1])`:                       false,
		`redis.pcall('EXPIRE', KEYS[1], 1) return redis.call('GET', KEYS[1])`: false,
	} {
		require.Equal(t, want, onlyReads(source), source)
	}
}
