package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// BR-22: in an app of SDK v5, all slots are held by deliveries that wait for other runs. Those are
// delivered all the same, and so is a hook. With SDK v4, whose flows run no steps, the slots
// are all there is.
func TestBR22DeliveriesThatWaitForOthersLetThemThrough(t *testing.T) {
	t.Parallel()
	for sdk, want := range map[string]int{"v5": 12, "v4": 3} {
		t.Run(sdk, func(t *testing.T) {
			t.Parallel()
			r := redistest.New(t)
			var begun atomic.Int64
			letGo := make(chan struct{})
			q := replica(t, r, nil, func(d world.Delivery) world.Outcome {
				begun.Add(1)
				if d.RunID < "wrun_03" {
					<-letGo
				}
				return world.Outcome{Verdict: world.Done}
			})
			q.flows = newLane(q, world.KindFlow, q.flows.name, 3)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- q.Run(ctx) }()
			for i := range 12 { // three that wait, and then nine that they wait for
				_, err := q.Enqueue(t.Context(), world.Message{
					QueueName: "__wkf_workflow_x", ContentType: "application/json", Body: []byte("{}"), RunID: fmt.Sprintf("wrun_%02d", i), SDK: sdk,
				})
				require.NoError(t, err)
			}
			require.Eventually(t, func() bool { return begun.Load() == int64(want) }, time.Minute, time.Millisecond)
			<-time.After(2 * longRunningAfter) // whatever would give up its slot has done so
			require.Equal(t, int64(want), begun.Load())
			close(letGo)
			require.Eventually(t, func() bool { return begun.Load() == 12 }, time.Minute, time.Millisecond)
			stop()
			require.NoError(t, <-ended)
			require.Zero(t, q.flows.longRunning.count)
			require.Empty(t, q.flows.claims)
		})
	}
}

// What lasts leaves a tenth of the slots to others, and there is an end to that.
func TestSlotsBesideDeliveriesThatLast(t *testing.T) {
	t.Parallel()
	l := &lane{kind: world.KindFlow, concurrency: 20}
	for _, c := range []struct{ inWork, longRunning, want int }{
		{0, 0, 20},
		{19, 0, 1},
		{20, 0, 0}, // all short
		{20, 5, 0},
		{20, 19, 1},
		{20, 20, 2},
		{21, 20, 1},
		{22, 20, 0},
		{10, 10, 10},
		{150, 150, 2},
		{199, 199, 1},
		{200, 200, 0},
	} {
		l.longRunning.count = c.longRunning
		require.Equal(t, c.want, l.slotsBeside(c.inWork), "%+v", c)
	}
	l.longRunning.count, l.longRunning.ended = 20, time.Now()
	require.Zero(t, l.slotsBeside(20), "they come to an end by and by")
	l.longRunning.ended = l.longRunning.ended.Add(-longRunningAfter)
	require.Equal(t, 2, l.slotsBeside(20))
	steps := &lane{kind: world.KindStep, concurrency: 20}
	require.Zero(t, steps.slotsBeside(20))
}
