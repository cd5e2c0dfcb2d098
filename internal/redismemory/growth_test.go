package redismemory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

const (
	mb = 1 << 20
	gb = 1 << 30
	// now is the time of the tests in this file.
	now = world.Millis(1_800_000_000_000)
)

func ago(d time.Duration) world.Millis { return now - world.Millis(d.Milliseconds()) }

// The growth is what was measured over the last day, or over as much of it as there is. Until there is an hour, it is estimated
// from the runs. The sentence says which, and when Redis is full.
func TestForecast(t *testing.T) {
	t.Parallel()
	full := Node{Used: 1210 * mb, Start: 1 * mb, Limit: 4 * gb, Machine: 64 * gb}
	noLimit, unknown := full, full
	noLimit.Limit = 0
	unknown.Limit, unknown.Machine = 0, 0
	runs := runCounts{hour: 3_000, day: 80_000, week: 310_000, all: 310_000}
	at := func(age time.Duration, used int64) sample { return sample{at: ago(age), used: used} }
	for name, c := range map[string]struct {
		node    Node
		samples []sample
		runs    runCounts
		want    string
		perDay  int64
	}{
		"a day": {
			full,
			[]sample{at(49*time.Hour, 1), at(25*time.Hour, 2), at(24*time.Hour, 900*mb), at(23*time.Hour, 3), at(time.Hour, 4)},
			runs,
			"Redis grows by 310 MB a day (80,000 runs); maxmemory of 4.0 GB is reached in 9 days", 310 * mb,
		},
		"six hours": {
			full,
			[]sample{at(6*time.Hour, 910*mb), at(time.Hour, 1)},
			runs,
			"Redis grows by 1.2 GB a day (80,000 runs) at the rate of the last 6 hours; maxmemory of 4.0 GB is reached in 2 days", 1200 * mb,
		},
		"less than an hour": {
			full,
			[]sample{at(59*time.Minute, 900*mb)},
			runs,
			"Redis grows by about 312 MB a day (80,000 runs of 4.0 KB on average); maxmemory of 4.0 GB is reached in 9 days", (1209 * mb) / 310_000 * 80_000,
		},
		"no maxmemory": {
			noLimit,
			[]sample{at(24*time.Hour, 900*mb)},
			runs,
			"Redis grows by 310 MB a day (80,000 runs); no maxmemory is set, and the machine's 64 GB are full in 207 days", 310 * mb,
		},
		"no limit is known": {
			unknown,
			[]sample{at(24*time.Hour, 900*mb)},
			runs,
			"Redis grows by 310 MB a day (80,000 runs); it uses 1.2 GB, no maxmemory is set, and the server does not report the machine's memory, so it is unknown when it is full", 310 * mb,
		},
		"smaller than before": {
			full,
			[]sample{at(24*time.Hour, 1310*mb)},
			runCounts{day: 1},
			"Redis does not grow noticeably (1 run in the last day); it uses 1.2 GB of 4.0 GB", -100 * mb,
		},
		"full already": {
			Node{Used: 4 * gb, Limit: 4 * gb},
			[]sample{at(24*time.Hour, 3*gb)},
			runs,
			"Redis grows by 1.0 GB a day (80,000 runs); maxmemory of 4.0 GB is reached in a minute", gb,
		},
		"nothing measured, and no runs": {
			full, nil, runCounts{}, "Redis uses 1.2 GB; how fast it grows is known after an hour", 0,
		},
		"the server reports nothing": {
			Node{}, []sample{at(24*time.Hour, 1)}, runs, "how fast Redis grows is unknown: the server does not report its memory (INFO memory)", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := forecast([]Node{c.node}, c.samples, c.runs, now)
			require.Equal(t, c.want, g.String())
			require.InEpsilon(t, float64(c.perDay+1), float64(g.PerDay+1), 0.01)
		})
	}
}

// Of a cluster the node counts that is full first, even if another one is fuller; each is compared with its own samples.
func TestForecastOfAClusterIsThatOfTheNodeThatIsFullFirst(t *testing.T) {
	t.Parallel()
	nodes := []Node{{Addr: "a:1", Used: 3 * gb, Limit: 4 * gb}, {Addr: "b:1", Used: 2 * gb, Limit: 4 * gb}, {Addr: "c:1", Used: 3900 * mb, Limit: 4 * gb}}
	samples := []sample{
		{ago(24 * time.Hour), "a:1", 3*gb - 100*mb}, {ago(24 * time.Hour), "b:1", 1 * gb}, {ago(24 * time.Hour), "c:1", 3900 * mb},
	}
	g := forecast(nodes, samples, runCounts{day: 10}, now)
	require.Equal(t, "node b:1 grows by 1.0 GB a day (10 runs); maxmemory of 4.0 GB is reached in 2 days", g.String())
	g = forecast(nodes, samples[2:], runCounts{day: 10}, now)
	require.Equal(t, "node c:1 does not grow noticeably (10 runs in the last day); it uses 3.8 GB of 4.0 GB", g.String())
}

func TestSizesAndTimesInWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 4 * gb: "4.0 GB", 310 * mb: "310 MB", 3 << 50: "3072 TB", -5 * mb: "-5.0 MB"} {
		require.Equal(t, want, Bytes(n))
	}
	for d, want := range map[time.Duration]string{time.Second: "a minute", 119 * time.Minute: "119 minutes", 47 * time.Hour: "47 hours", 1234 * day: "1,234 days"} {
		require.Equal(t, want, about(d))
	}
}
