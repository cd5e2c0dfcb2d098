package apps

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue/internal/backoff"
)

// newSaid is a Health with a clock that stands still, and its log.
func newSaid() (*Health, *worldtest.Clock, func(level, text string) int) {
	clock, out := worldtest.StoppedClock(time.UnixMilli(1_800_000_000_000)), &bytes.Buffer{}
	count := func(level, text string) int {
		n := 0
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "level="+level) && strings.Contains(line, text) {
				n++
			}
		}
		return n
	}
	return NewHealth(backoff.Times{}.WithDefaults(), clock, slog.New(slog.NewTextHandler(out, nil))), clock, count
}

// Five messages fail for 44 minutes, for reasons of their own, while the app handles all others: the log says so when
// it begins, warns when it has lasted, and then every ten minutes. It is one trouble, with one end.
func TestFewWarningsOfMessagesThatFail(t *testing.T) {
	t.Parallel()
	said, clock, count := newSaid()
	refuse := func(message, attempt, status int) {
		said.Refused(world.KindFlow, "http://app", fmt.Sprint("msg_", message), world.Outcome{
			Status: status, Reason: fmt.Sprintf("run %d failed at attempt %d", message, attempt),
		})
	}
	times := backoff.Times{}.WithDefaults()
	for attempt := range 49 {
		for message := range 5 {
			refuse(message, attempt, 500)
			said.Accepted(world.KindFlow, "http://app", fmt.Sprint("other ", attempt, message))
		}
		clock.Add(min(times.FailedMax, times.FailedFirst<<min(attempt, 10)))
	}
	require.Equal(t, 1, count("INFO", "did not acknowledge"))
	require.Equal(t, 5, count("WARN", "did not acknowledge"), "after half a minute, and in each ten minutes since")
	require.Equal(t, 1, count("WARN", "lasts=31s times=26"))
	require.Equal(t, 0, count("INFO", "acknowledges"))
	refuse(5, 0, 404)
	require.Equal(t, 2, count("INFO", "did not acknowledge"), "something else is wrong as well")
	for message := range 4 {
		said.Accepted(world.KindFlow, "http://app", fmt.Sprint("msg_", message))
	}
	require.Equal(t, 0, count("INFO", "acknowledges"))
	said.Accepted(world.KindFlow, "http://app", "msg_4")
	require.Equal(t, 1, count("INFO", "acknowledges"))
	said.SetAside("msg_5")
	require.Equal(t, 1, count("INFO", "acknowledges"), "it does not")
	require.Empty(t, said.complaints.refused)
}

// An app that boots, compiles its routes or is replaced causes no warning; and an app that sometimes fails does not
// fill the log.
func TestAShortTroubleIsNoWarning(t *testing.T) {
	t.Parallel()
	said, clock, count := newSaid()
	for range 14 {
		said.missing(absence{kind: world.KindFlow, deployment: "dpl_1"}, shortage{reason: "no app of deployment dpl_1 is there", advice: "start it"})
		said.Unreachable("http://app", "nothing listens")
		said.Refused(world.KindFlow, "http://slow", "msg_1", world.Outcome{Status: 404, Reason: "compiling"})
		said.Broke("http://app", "msg_2", world.Message{}, "killed")
		clock.Add(2 * time.Second)
	}
	said.present(absence{kind: world.KindFlow, deployment: "dpl_1"})
	require.True(t, said.Reached("http://app"))
	said.Accepted(world.KindFlow, "http://slow", "msg_1")
	for _, text := range []string{
		"messages wait: no app", "there is an app again", "cannot be reached", "can be reached again", "broke during", "did not acknowledge", "acknowledges",
	} {
		require.Equal(t, 1, count("INFO", text), text)
	}
	for i := range 120 { // two minutes of a message in a second that fails once
		said.Refused(world.KindFlow, "http://slow", fmt.Sprint("msg_", i), world.Outcome{Status: 500, Reason: "now and then"})
		said.Accepted(world.KindFlow, "http://slow", fmt.Sprint("msg_", i))
		clock.Add(time.Second)
	}
	require.Equal(t, 2, count("INFO", "now and then"))
	require.Zero(t, count("WARN", ""))
}

// A lasting trouble causes one warning, and another one when it comes back later.
func TestATroubleThatLastsIsAWarning(t *testing.T) {
	t.Parallel()
	said, clock, count := newSaid()
	for range 2 {
		for range 40 {
			said.missing(absence{kind: world.KindFlow, deployment: "dpl_1"}, shortage{reason: "no app of deployment dpl_1 is there", advice: "start it"})
			said.Unreachable("http://app", "nothing listens")
			said.Broke("http://app", "msg_2", world.Message{}, "out of memory")
			clock.Add(time.Second)
		}
		said.registered(world.App{BaseURL: "http://app", DeploymentID: "dpl_1"})
		require.True(t, said.Reached("http://app"))
		clock.Add(complaintInterval)
	}
	for _, text := range []string{"messages wait: no app of deployment", "cannot be reached", "broke during"} {
		require.Equal(t, 2, count("INFO", text), text)
		require.Equal(t, 2, count("WARN", text), text)
	}
}

// The number of remembered troubles is bounded, however many apps have one.
func TestComplaintsAreBounded(t *testing.T) {
	t.Parallel()
	said, clock, count := newSaid()
	for i := range 2 * complaintsKept {
		said.Refused(world.KindFlow, fmt.Sprint("http://", i), fmt.Sprint("msg_", i), world.Outcome{Status: 500})
		clock.Add(time.Millisecond)
	}
	require.Len(t, said.complaints.known, complaintsKept)
	require.LessOrEqual(t, len(said.complaints.refused), complaintsKept)
	require.Equal(t, 2*complaintsKept, count("INFO", "did not acknowledge"))
}
