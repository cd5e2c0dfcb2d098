package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
	"github.com/world-redis/world-redis/archive/postgres"
	"github.com/world-redis/world-redis/internal/pgtest"
)

func open(tb testing.TB, url, namespace string) *postgres.Archive {
	tb.Helper()
	a, err := postgres.Open(tb.Context(), url, postgres.Options{Namespace: namespace})
	require.NoError(tb, err)
	return a
}

func TestConformance(t *testing.T) {
	t.Parallel()
	archivetest.Test(t, archivetest.Subject{New: func(tb testing.TB) world.Archive { return open(tb, pgtest.New(tb), "wf:") }})
}
