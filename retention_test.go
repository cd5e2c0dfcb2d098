package world_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

const day = 24 * time.Hour

// A rule for a workflow goes before one for all, and the first of several that match counts.
func TestTheRetentionOfARun(t *testing.T) {
	t.Parallel()
	r, err := world.ParseRetention(" completed=7d, failed=30d ,report-*:completed=1h,*:cancelled=90s,report-big:completed=2w,workflow//./workflows/a//*:failed=5m")
	require.NoError(t, err)
	require.True(t, r.Any())
	require.True(t, r.Names())
	for _, c := range []struct {
		name   string
		status world.RunStatus
		kept   time.Duration
	}{
		{"workflow//./workflows/x//other", world.RunCompleted, 7 * day},
		{"workflow//./workflows/x//report-big", world.RunCompleted, time.Hour},
		{"report-small", world.RunCompleted, time.Hour},
		{"report-small", world.RunFailed, 30 * day},
		{"workflow//./workflows/a//b", world.RunFailed, 5 * time.Minute},
		{"workflow//./workflows/aa//b", world.RunFailed, 30 * day},
		{"workflow//./workflows/a//b", world.RunCancelled, 90 * time.Second},
		{"report-small", world.RunRunning, 0},
	} {
		kept, ok := r.For(c.name, c.status)
		require.Equal(t, c.kept, kept, "%s %s", c.name, c.status)
		require.Equal(t, c.kept != 0, ok)
	}
	again, err := world.ParseRetention("completed=168h,failed=30d,report-*:completed=60m,*:cancelled=90s,report-big:completed=14d,workflow//./workflows/a//*:failed=300s")
	require.NoError(t, err)
	require.Equal(t, r.String(), again.String())

	none, err := world.ParseRetention(" ")
	require.NoError(t, err)
	require.False(t, none.Any())
	_, ok := none.For("x", world.RunCompleted)
	require.False(t, ok)
}

func TestBadRetentions(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"completed":                 `the rule "completed" has no duration`,
		"completed=7y":              `"7y" cannot be read: use a whole number with one of the units s, m, h, d and w`,
		"completed=7":               `"7" cannot be read`,
		"completed=1.5h":            `"1.5h" cannot be read`,
		"completed=d":               `"d" has no number`,
		"completed=":                "the duration is empty",
		"completed=-1d":             `"-1d" is negative`,
		"completed=0s":              "at least 1s",
		"completed=3651d":           "at most 3650d",
		"completed=99999999999999w": "at most 3650d",
		"report-*=1h":               "has no status: write it as report-*:completed=1h",
		"=1h":                       "has no status",
		"report:=1h":                "has no status",
		":completed=1h":             "has no workflow before its colon",
		"running=1h":                `has the status "running": use completed, failed or cancelled`,
		"completed=7d,":             "a rule is empty",
		"completed=7d,completed=8d": "two rules for completed",
		"a:failed=7d,a:failed=8d":   "two rules for a:failed",
		"a[:failed=7d":              "a [ lacks its ]",
	} {
		_, err := world.ParseRetention(text)
		require.ErrorContains(t, err, says, text)
	}
}

func TestTheRetentionThatARunHasItself(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{"36h": 36 * time.Hour, "7d": 7 * day, "1s": time.Second} {
		kept, ok := world.OwnRetention(value)
		require.True(t, ok, value)
		require.Equal(t, want, kept)
	}
	for _, value := range []string{"", "0", "1", "604800", "default", "-1d", "4000d", " 7d"} {
		_, ok := world.OwnRetention(value)
		require.False(t, ok, value)
	}
}
