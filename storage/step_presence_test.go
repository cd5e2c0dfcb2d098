package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// A step exists from its first event on, even if its hash is gone; its run has a status as long as it is stored. A step
// that is named without its run is found, too.
func TestStepsAreFoundByTheLog(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r)
		running := scene((*bundle).running).then(world.EventStepCreated)(b)
		b.send(running, world.EventStepCreated, "x_10", sample(b, world.EventStepCreated))
		ended := scene((*bundle).running).then(world.EventStepCreated, world.EventRunCompleted)(b)
		const located = "x_20" // in no other run, and the reference names none
		b.send(running, world.EventStepCreated, located, sample(b, world.EventStepCreated))
		b.quiet()
		require.NoError(t, r.Client.Del(b.ctx, b.keys.of(running).step("x_10")).Err())
		found, err := b.FindSteps(b.ctx, []world.StepRef{
			{RunID: running, StepID: x},
			{RunID: running, StepID: "x_10"},
			{RunID: running, StepID: "x_"},
			{RunID: running, StepID: "x"},
			{RunID: running, StepID: "y_1"},
			{RunID: running, StepID: "no id}"},
			{RunID: ended, StepID: x},
			{RunID: "wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", StepID: x},
			{RunID: "{" + running, StepID: x},
			{StepID: located},
			{StepID: "y_1"},
		})
		require.NoError(t, err)
		require.Equal(t, []world.StepPresence{
			{Run: world.RunRunning, Step: true},
			{Run: world.RunRunning, Step: true},
			{Run: world.RunRunning},
			{Run: world.RunRunning},
			{Run: world.RunRunning},
			{},
			{Run: world.RunCompleted, Step: true},
			{},
			{},
			{Run: world.RunRunning, Step: true},
			{},
		}, found)
	})
}
