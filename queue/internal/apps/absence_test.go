package apps

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/queue/internal/backoff"
)

// The number of remembered absences is bounded, however many deployments messages name: the most recently noticed ones
// are kept, each with its start time.
func TestAbsencesAreBounded(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_800_000_000_000)
	clock := worldtest.StoppedClock(begin)
	health := NewHealth(backoff.Times{}.WithDefaults(), clock, slog.New(slog.DiscardHandler))
	of := func(i int) absence { return absence{kind: world.KindFlow, deployment: fmt.Sprint("dpl_", i)} }
	const more = 100
	for i := range absencesKept + more {
		clock.Add(time.Millisecond)
		health.missing(of(i), shortage{reason: "no app is there"})
		require.Equal(t, begin.Add(time.Millisecond), health.missing(of(0), shortage{reason: "no app is there"}), "it is noticed again and again")
	}
	require.Len(t, health.absent, absencesKept)
	require.Nil(t, health.absent[of(1)])
	require.NotNil(t, health.absent[of(more+1)])
	health.present(of(0))
	require.Len(t, health.absent, absencesKept-1)
}
