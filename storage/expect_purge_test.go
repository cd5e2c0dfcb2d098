package storage

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
)

// ExpectPurge is called before a run gets zero retention, in each of the ways in which it can get it, and for no other
// run. If it fails, the run does not get it.
func TestExpectPurgeComesBeforeZeroRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		b := newBundle(t, r).on(t, 7)
		var told []string
		var fails error
		store, err := New(t.Context(), r.Client, Config{Prefix: r.Prefix, Clock: b.clock, ExpectPurge: func(ctx context.Context, runID string) error {
			said, err := r.Client.HExists(ctx, b.keys.of(runID).run(), "@$retention").Result()
			require.NoError(t, err)
			require.False(t, said)
			told = append(told, runID)
			return fails
		}})
		require.NoError(t, err)
		b.Store = store
		set := func(value any) world.Fields {
			return append(b.caller().Changes(writerStep, "$retention", value), data(t, "allowReservedAttributes", true)...)
		}
		for name, say := range map[string]func(value string) (runID string, err error){
			"created": func(value string) (string, error) {
				result, err := b.try("", world.EventRunCreated, "", append(b.runData(), data(t, "attributes", map[string]string{"$retention": value, "a": "0"}, "allowReservedAttributes", true)...))
				if err != nil {
					return "", err
				}
				return result.Run.RunID, nil
			},
			"started": func(value string) (string, error) {
				runID := b.ids.Prefixed("wrun_")
				_, err := b.try(runID, world.EventRunStarted, "", append(b.runData(), data(t, "attributes", map[string]string{"$retention": value, "a": "0"}, "allowReservedAttributes", true)...))
				return runID, err
			},
			"changed": func(value string) (string, error) {
				runID := b.running()
				_, err := b.try(runID, world.EventAttrSet, "", set(value))
				return runID, err
			},
		} {
			told = nil
			_, err := say("1")
			require.NoError(t, err, name)
			require.Empty(t, told, name)
			runID, err := say("0")
			require.NoError(t, err, name)
			require.Equal(t, []string{runID}, told, name)
			b.send(runID, world.EventRunCancelled, "", nil)
			end, err := b.RunEnds(b.ctx, []string{runID})
			require.NoError(t, err)
			require.True(t, end[0].Emptied, name)
			fails = world.Errorf(world.CodeUnavailable, "the streams are away")
			_, err = say("0")
			require.Equal(t, world.CodeUnavailable, world.ErrorCode(err), name)
			exists := r.Client.HExists(b.ctx, b.keys.of(told[1]).run(), "@$retention")
			require.False(t, exists.Val(), name)
			fails = nil
		}
		end, err := b.RunEnds(b.ctx, []string{b.running()})
		require.NoError(t, err)
		require.False(t, end[0].Emptied)
	})
}
