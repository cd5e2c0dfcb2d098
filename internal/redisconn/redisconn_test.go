package redisconn_test

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find) }

func TestOpenWithoutAddressIsEmbeddedAndKeepsTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, err := redisconn.Open(ctx, "")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	require.Equal(t, redisconn.Embedded, c.Mode)
	require.NoError(t, c.Client.Set(ctx, "k", "v", 300*time.Millisecond).Err())
	stranger := redis.NewClient(&redis.Options{Addr: c.Client.(*redis.Client).Options().Addr})
	require.ErrorContains(t, stranger.Ping(ctx).Err(), "NOAUTH", "other processes of this machine reach its port")
	require.NoError(t, stranger.Close())
	require.Eventually(t, func() bool { return c.Client.Exists(ctx, "k").Val() == 0 }, time.Minute, 20*time.Millisecond,
		"a time to live must end by itself, as on a real Redis")
}

func TestOpenReachesAStandaloneServer(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c, err := redisconn.Open(t.Context(), "redis://"+r.Addr+"/3")
	require.NoError(t, err)
	require.Equal(t, redisconn.Standalone, c.Mode)
	dialled, err := c.Client.(*redis.Client).Options().Dialer(t.Context(), "tcp", r.Addr)
	require.NoError(t, err)
	if runtime.GOOS == "linux" {
		require.IsNotType(t, &net.TCPConn{}, dialled, "its reads and writes must be quiet")
	}
	require.NoError(t, dialled.Close())
	require.Equal(t, []string{r.Addr}, c.Hosts())
	require.Equal(t, []netip.AddrPort{netip.MustParseAddrPort(r.Addr)}, c.Servers())
	require.NoError(t, c.Close())
}

func TestOpenFailsWithASentenceThatHidesThePassword(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := redisconn.Open(ctx, "redis://user:secret@127.0.0.1:1/0")
	require.ErrorContains(t, err, "no Redis answers at redis://user:xxxxx@127.0.0.1:1/0")
	require.NotContains(t, err.Error(), "secret")
	for address, want := range map[string]string{
		"http://127.0.0.1":                                             "not usable",
		"redis+sentinel://:secret@127.0.0.1:1":                         "names no master",
		"redis+sentinel://127.0.0.1:1/0?sentinel_password=secret&db=0": "not usable",
		"redis+sentinel://127.0.0.1:1/0?Sentinel_Password=secret":      "",
		"redis://127.0.0.1:1/0?password=secret":                        "not usable",
		"redis+ring://127.0.0.1:1":                                     "unknown scheme",
		"redis://:p#w@x%zz":                                            "not a valid URL",
	} {
		_, err := redisconn.Open(ctx, address)
		require.ErrorContains(t, err, want, address)
		require.NotContains(t, err.Error(), "secret")
	}
}
