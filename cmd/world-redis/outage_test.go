package main

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// chaosLong makes outages and crowds as long and as large as they come: go test ./cmd/world-redis -run
// TestOutages -chaos.long -timeout 30m
var chaosLong = flag.Bool("chaos.long", false, "Redis is away for ten minutes, too, and thousands of runs are parked at a boot")

// Outages of up to a minute. These tests only wait, so they run in parallel, in the place of one test.
func TestOutages(t *testing.T) {
	t.Parallel()
	stories := map[string]func(t *testing.T){
		"BR-29: a replica stands still for a minute":    replicaStandsStill,
		"BR-30: the service stops during long steps":    serviceStopsDuringLongSteps,
		"BR-28: replicas come and go beside a busy one": replicasComeAndGo,
		"BR-24: the app is down for a minute":           appIsDown,
		"BR-13: the service is killed ten times":        serviceIsKilledTenTimes,
		"BR-18: a key comes again at another replica":   keyComesAgainAtAnotherReplica,
		"BR-27: three replicas boot together":           replicasBootTogether,
		"BR-62: an idle service asks Redis for little":  idleServiceAsksLittle,
		"ten replicas ask for little more than one":     tenReplicasAskForLittleMoreThanOne,
		"a leader stands still":                         leaderStandsStill,
		"a replica gives connections back":              connectionsGoBack,
		"BR-41: notifications of chunks are lost":       notificationsAreLost,
		"BR-46: what is silent is cut":                  quietReadsAreCut,
	}
	for how, p := range map[string]plug{
		"stands still": {(*redistest.Server).Freeze, (*redistest.Server).Thaw},
		"is killed":    {(*redistest.Server).Kill, (*redistest.Server).Restart},
	} {
		lengths := []time.Duration{5 * time.Second, time.Minute}
		if *chaosLong {
			lengths = append(lengths, 10*time.Minute)
		}
		for _, away := range lengths {
			stories[fmt.Sprintf("BR-58: Redis %s for %s", how, away)] = func(t *testing.T) { redisIsAway(t, p, away) }
		}
	}
	var all sync.WaitGroup
	for name, story := range stories {
		all.Go(func() { t.Run(name, story) })
	}
	all.Wait()
}

type plug struct {
	pull, put func(s *redistest.Server) error
}

// Redis is away for a while, with twenty deliveries in progress on two replicas, as many messages waiting after them,
// and as many delayed. Half of the deliveries end while it is away, the other half long after. Everything continues by
// itself: each message is delivered once, as its first attempt, and all runs end.
func redisIsAway(t *testing.T, plug plug, away time.Duration) {
	a := newEndingApp(t, manyDeliveries)
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := redistest.Client(t, s.Addr)
	environ := []string{
		"WORKFLOW_REDIS_URL=redis://" + s.Addr, "WORKFLOW_REDIS_STEP_CONCURRENCY=" + fmt.Sprint(manyDeliveries/2), "WORKFLOW_BASE_URL=" + a.URL,
	}
	one, two := startProcess(t, environ...), startProcess(t, environ...)
	a.service = func() string { return two.base }

	var runs []string
	for range manyDeliveries {
		runs = append(runs, enqueueRun(t, one.base, 0))
	}
	require.Eventually(t, func() bool { return a.begun() == manyDeliveries }, time.Minute, 5*time.Millisecond)
	for range manyDeliveries {
		runs = append(runs, enqueueRun(t, one.base, 0))
	}
	for i := range manyDeliveries {
		later := away.Seconds() + 10*float64(i%2) // as soon as it is back, and some time after that
		runs = append(runs, enqueueRun(t, two.base, later))
	}

	require.NoError(t, plug.pull(s))
	<-time.After(away / 2)
	letGo(a.early)
	<-time.After(away / 2)
	require.Equal(t, manyDeliveries, a.begun())
	require.NoError(t, plug.put(s))
	back := time.Now()
	require.Eventually(t, func() bool { return a.begun() > manyDeliveries }, time.Minute, 5*time.Millisecond)
	t.Logf("the first delivery came %s after Redis", a.firstAfter(back).Round(time.Millisecond))
	<-time.After(time.Until(back.Add(15 * time.Second))) // longer than a lease
	letGo(a.late)

	requireAllEnded(t, one.base, client, "workflow:", runs)
	a.requireDelivered(t, runs, 1)
	require.Len(t, a.deliveries, len(runs), "nothing else was delivered")
}
