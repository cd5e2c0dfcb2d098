package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/storage"
)

// The list of lost calls has each call once, the newest first. It is bounded, and entries expire.
func TestLostCallsAreListed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		store, err := storage.New(t.Context(), r.Client, storage.Config{Prefix: r.Prefix})
		require.NoError(t, err)
		empty, err := store.ListLost(t.Context(), world.PageRequest{})
		require.NoError(t, err)
		require.Equal(t, world.Page[world.AnsweredCall]{}, empty)

		now := world.MillisOf(time.Now())
		calls := make([]world.AnsweredCall, world.MaxLostCalls+5)
		for i := range calls {
			calls[i] = world.AnsweredCall{Kind: world.AnsweredStart, At: now + world.Millis(i), RunID: fmt.Sprintf("wrun_%d", i), WorkflowName: "wf"}
		}
		last := len(calls) - 1
		calls[last] = world.AnsweredCall{
			Kind: world.AnsweredResume, At: calls[last].At, RunID: "wrun_x", WorkflowName: "wf", EventID: "evnt_1", HookID: "hook_1", Token: "a{b}\x00", ResumeID: "r",
		}
		require.NoError(t, store.NoteLost(t.Context(), calls))
		require.NoError(t, store.NoteLost(t.Context(), calls[last-5:]))
		require.NoError(t, store.NoteLost(t.Context(), []world.AnsweredCall{{Kind: world.AnsweredStart, At: now - 25*3600*1000, RunID: "wrun_old"}}))
		require.NoError(t, store.NoteLost(t.Context(), nil))

		first, err := store.ListLost(t.Context(), world.PageRequest{Limit: 3})
		require.NoError(t, err)
		require.Equal(t, world.Page[world.AnsweredCall]{Data: []world.AnsweredCall{calls[last], calls[last-1], calls[last-2]}, Cursor: "3", HasMore: true}, first)
		end, err := store.ListLost(t.Context(), world.PageRequest{Limit: 1000, Cursor: "9998"})
		require.NoError(t, err)
		require.Equal(t, world.Page[world.AnsweredCall]{Data: []world.AnsweredCall{calls[6], calls[5]}, Cursor: "10000"}, end)
		for _, bad := range []string{"x", "-1", "10001"} {
			_, err = store.ListLost(t.Context(), world.PageRequest{Cursor: bad})
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err), bad)
		}
		require.InDelta(t, 24*time.Hour, r.Client.TTL(t.Context(), r.Prefix+"runs:lost").Val(), float64(time.Minute))
	})
}

// A resume is missing when its run is, and when another event is in its place: of another time, another type or another
// hook.
func TestMissingCalls(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
		store, err := storage.New(t.Context(), r.Client, storage.Config{Prefix: r.Prefix})
		require.NoError(t, err)
		minter := ids.NewMinter(world.SystemClock{})
		for _, spec := range []int{2, 7} { // with ids of either form
			runID, hookID := minter.Prefixed("wrun_"), minter.Prefixed("hook_")
			var received world.Event
			for _, e := range []world.CreateEvent{
				{Type: world.EventRunCreated, Data: world.Fields{{Key: "deploymentId", Value: world.Raw{0x61, 'd'}}, {Key: "workflowName", Value: world.Raw{0x61, 'w'}}, {Key: "input", Value: world.Raw{0x41, 1}}}},
				{Type: world.EventHookCreated, CorrelationID: hookID, Data: world.Fields{{Key: "token", Value: append(world.Raw{0x78, byte(len(hookID))}, hookID...)}}},
				{Type: world.EventHookReceived, CorrelationID: hookID, Data: world.Fields{{Key: "payload", Value: append(world.Raw{0x59, 0x10, 0x00}, make([]byte, 4096)...)}}},
			} {
				e.RunID, e.SpecVersion = runID, spec
				result, err := store.CreateEvent(t.Context(), e)
				require.NoError(t, err)
				received = *result.Event
			}
			resume := world.AnsweredCall{Kind: world.AnsweredResume, At: received.CreatedAt, RunID: runID, EventID: received.EventID, HookID: hookID}
			altered := func(change func(*world.AnsweredCall)) world.AnsweredCall {
				c := resume
				change(&c)
				return c
			}
			start := world.AnsweredCall{Kind: world.AnsweredStart, RunID: runID}
			got, err := store.MissingCalls(t.Context(), []world.AnsweredCall{
				start,
				{Kind: world.AnsweredStart, RunID: "wrun_none"},
				resume,
				altered(func(c *world.AnsweredCall) { c.RunID = "wrun_none" }),
				altered(func(c *world.AnsweredCall) { c.At++ }),
				altered(func(c *world.AnsweredCall) { c.HookID = "hook_other" }),
				altered(func(c *world.AnsweredCall) { c.ResumeID = "another" }),
			})
			require.NoError(t, err)
			require.Equal(t, []bool{false, true, false, true, true, true, true}, got, spec)
		}
		none, err := store.MissingCalls(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}
