package cursor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// A cursor is refused as CodeInvalid or leads to a position that gives the same cursor.
func FuzzCursors(f *testing.F) {
	f.Add("events/r/", EventCursor("events/r/", 7), int64(7), "x")
	f.Add("runs", Place{MS: 1_800_000_000_000, ID: "wrun_1"}.Cursor("runs"), int64(-1), "")
	f.Add("runs", "AQ", int64(1)<<40, "{}")
	f.Fuzz(func(t *testing.T, scope, cursor string, number int64, id string) {
		if end, err := OpenEventCursor(scope, cursor); err != nil {
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		} else {
			require.GreaterOrEqual(t, end.Position, 0)
			require.GreaterOrEqual(t, end.CreatedAt, world.Millis(0))
		}
		if p, err := OpenPlace(scope, cursor); err != nil {
			require.Equal(t, world.CodeInvalid, world.ErrorCode(err))
		} else {
			require.NotEmpty(t, p.ID)
		}
		if position := int(number & (1<<31 - 1)); position >= 0 {
			got, err := OpenEventCursor(scope, EventCursor(scope, position))
			require.NoError(t, err)
			require.Equal(t, world.LogEnd{Position: position}, got)
			created := world.Millis(max(0, number))
			got, err = OpenEventCursor(scope, LogCursor(scope, position, created))
			require.NoError(t, err)
			require.Equal(t, world.LogEnd{Position: position, CreatedAt: created}, got)
		}
		if id != "" && len(id) <= 600 {
			want := Place{MS: world.Millis(number), ID: id}
			got, err := OpenPlace(scope, want.Cursor(scope))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}
