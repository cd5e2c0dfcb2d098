package redismemory

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// recorder returns one with a clock, and what it logs.
func recorder(r *redistest.Redis, clock *worldtest.Clock, log *bytes.Buffer, prefixes ...string) *Recorder {
	return New(Config{
		Redis: r.Client, Home: r.Prefix, Prefixes: prefixes, Leadership: world.Alone{}, Clock: clock, Kept: true,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
}

// Every hour a sample of each master is stored, and none is kept for more than a week.
func TestSamplesAreTakenHourlyForAWeek(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		clock, log := &worldtest.Clock{}, &bytes.Buffer{}
		rec := recorder(r, clock, log, r.Prefix)
		rec.Kept = false
		nodes, err := Nodes(t.Context(), r.Client)
		require.NoError(t, err)
		known := 0 // of the embedded Redis there is nothing to know
		for _, n := range nodes {
			if n.Used > 0 {
				known++
			}
		}
		count := func() int64 { return r.Client.ZCard(t.Context(), samplesKey(r.Prefix)).Val() }
		for range 5 {
			require.NoError(t, rec.Record(t.Context()))
			clock.Add(11 * time.Minute)
		}
		require.EqualValues(t, known, count())
		for range 200 {
			clock.Add(time.Hour)
			require.NoError(t, rec.Record(t.Context()))
		}
		require.LessOrEqual(t, count(), int64(known*170))
		require.GreaterOrEqual(t, count(), int64(known*168))
	})
}

// The growth is logged once a day, as a WARN if Redis is full soon, and never where finished runs leave Redis.
func TestGrowthIsLoggedOnceADay(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := &redistest.Redis{Client: redistest.Client(t, s.Addr), Prefix: "a:"}
	clock, log := &worldtest.Clock{}, &bytes.Buffer{}
	rec := recorder(r, clock, log, "a:", "b:")
	require.NoError(t, rec.Record(t.Context()))
	require.Empty(t, log.String(), "nothing is known yet")

	// A day later there are 16 MB more.
	for i, prefix := range []string{"a:", "b:", "b:"} {
		require.NoError(t, r.Client.ZAdd(t.Context(), prefix+"runs:index", redis.Z{Score: float64(clock.Now().UnixMilli()), Member: strconv.Itoa(i)}).Err())
	}
	clock.Add(24*time.Hour - time.Minute)
	require.NoError(t, r.Client.Set(t.Context(), "large", strings.Repeat("x", 16<<20), 0).Err())
	require.NoError(t, r.Client.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(1<<30)).Err())
	kept := *rec
	kept.Kept = false
	require.NoError(t, kept.Record(t.Context()))
	require.Empty(t, log.String())
	for range 3 {
		require.NoError(t, rec.Record(t.Context()))
	}
	require.Regexp(t, `^time=\S+ level=INFO msg="Redis grows by \d\d MB a day \(3 runs\); maxmemory of 1\.0 GB is reached in \d\d days" bytes_a_day=\d+ used=\d+ maxmemory=1073741824 runs=3\n$`, log.String())

	log.Reset()
	require.NoError(t, r.Client.Del(t.Context(), saidKey("a:")).Err()) // as after a day
	require.NoError(t, r.Client.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(64<<20)).Err())
	require.NoError(t, rec.Record(t.Context()))
	require.Regexp(t, `level=WARN msg="Redis grows by .* is reached in \d+ (days|hours); set WORKFLOW_WORLD_RETENTION, so that finished runs leave Redis, or give it more memory"`, log.String())
	require.InDelta(t, day, r.Client.TTL(t.Context(), saidKey("a:")).Val(), float64(time.Minute))
}

// A server that refuses INFO is one of which nothing is known, and no error.
func TestAServerThatRefusesINFO(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := redistest.Client(t, s.Addr)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "plain", "on", ">x", "~*", "+@all", "-info").Err())
	plain := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "plain", Password: "x"})
	defer func() { require.NoError(t, plain.Close()) }()
	g, err := Measure(t.Context(), plain, "a:", []string{"a:"}, now)
	require.NoError(t, err)
	require.False(t, g.Known)
	require.Equal(t, "how fast Redis grows is unknown: the server does not report its memory (INFO memory)", g.String())
}
