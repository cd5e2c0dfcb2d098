package rollback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// A ledger has limits for calls and for bytes, and keeps the last ones.
func TestALedgerIsBounded(t *testing.T) {
	t.Parallel()
	var l Ledger
	now := time.Now()
	for i := range CallsKept + 1000 {
		l.add(nil, world.AnsweredCall{RunID: fmt.Sprint(i)}, now)
	}
	require.Equal(t, 1000, l.first())
	require.Equal(t, CallsKept+1000, l.next())
	require.Equal(t, "1000", l.after(0, l.next(), 1)[0].call.RunID)
	require.Less(t, cap(l.entries), 3*CallsKept)

	token := strings.Repeat("x", 1<<20)
	for range 80 {
		l.add(nil, world.AnsweredCall{Token: token}, now)
	}
	require.Equal(t, 63, l.next()-l.first())
	require.LessOrEqual(t, l.bytes, bytesKept)
}

// A call that is forgotten or settled is not looked up again; numbers do not change.
func TestALedgerForgets(t *testing.T) {
	t.Parallel()
	var l Ledger
	now := time.Now()
	for i := range 10 {
		l.add(nil, world.AnsweredCall{RunID: fmt.Sprint(i)}, now.Add(time.Duration(i)*time.Second))
	}
	l.forget(now.Add(3 * time.Second))
	l.settle(4)
	l.settle(0)  // forgotten
	l.settle(99) // not there yet
	var left []string
	for _, e := range l.after(0, 9, 100) {
		left = append(left, fmt.Sprintf("%d %s", e.number, e.call.RunID))
	}
	require.Equal(t, []string{"3 3", "5 5", "6 6", "7 7", "8 8"}, left)
	require.Len(t, l.after(6, 10, 2), 2)
	l.forget(now.Add(time.Hour))
	require.Equal(t, 10, l.next())
	require.Equal(t, 10, l.first())
	require.Zero(t, l.bytes)
	l.add(nil, world.AnsweredCall{RunID: "next"}, now)
	require.Equal(t, "next", l.after(0, 11, 10)[0].call.RunID)
}
