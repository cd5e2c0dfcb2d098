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

// BR-22: in an app of SDK v5, all slots are held by deliveries that wait for other runs. Those are delivered
// nevertheless, and so is a hook. With SDK v4, whose flows run no steps, there are no more deliveries than slots.
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
			q.flows = newWorker(q, world.KindFlow, q.flows.Name, 3)
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
			<-time.After(time.Second) // twice as long as a delivery keeps its slot
			require.Equal(t, int64(want), begun.Load())
			close(letGo)
			require.Eventually(t, func() bool { return begun.Load() == 12 }, time.Minute, time.Millisecond)
			stop()
			require.NoError(t, <-ended)
			require.Equal(t, 3, q.flows.FreeSlots())
		})
	}
}
