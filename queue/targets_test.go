package queue

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// However many deployments messages name, a bounded number of absences is remembered: those that were heard of last, each since it began.
func TestAbsencesAreBounded(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_800_000_000_000)
	clock := worldtest.StoppedClock(begin)
	targets := newTargets(Backoff{}.withDefaults(), clock, slog.New(slog.DiscardHandler))
	of := func(i int) absence { return absence{kind: world.KindFlow, deployment: fmt.Sprint("dpl_", i)} }
	const more = 100
	for i := range absencesKept + more {
		clock.Add(time.Millisecond)
		targets.missing(of(i), shortage{reason: "no app is there"})
		require.Equal(t, begin.Add(time.Millisecond), targets.missing(of(0), shortage{reason: "no app is there"}), "it is heard of again and again")
	}
	require.Len(t, targets.absent, absencesKept)
	require.Nil(t, targets.absent[of(1)])
	require.NotNil(t, targets.absent[of(more+1)])
	targets.present(of(0))
	require.Len(t, targets.absent, absencesKept-1)
}
