package setup

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The check of the builds shows each replica, and warns of those that do not know removed runs.
func TestCheckOfTheBuilds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found   []Replica
		err     error
		verdict Verdict
		message string
		advice  bool
	}{
		{verdict: OK, message: "no replica of the service is running"},
		{found: []Replica{{Host: "a", PID: 1, Version: "v2"}}, verdict: OK, message: "a (pid 1) build v2"},
		{found: []Replica{{Host: "a", PID: 1, Version: "v2"}, {Host: "b", PID: 2, Older: true}}, verdict: Warn, message: "a (pid 1) build v2, b (pid 2) an older build", advice: true},
		{err: errors.New("no Redis"), verdict: Warn, message: "unknown: no Redis"},
	} {
		var one call
		one.checkBuilds(t.Context())
		require.Empty(t, one.report.Checks)
		one.options.Replicas = func(context.Context) ([]Replica, error) { return c.found, c.err }
		one.checkBuilds(t.Context())
		require.Len(t, one.report.Checks, 1)
		check := one.report.Checks[0]
		require.Equal(t, []any{"builds", c.verdict, c.message, c.advice}, []any{check.Name, check.Verdict, check.Message, check.Advice != ""})
		require.Equal(t, c.found, one.report.Replicas)
	}
}
