package archived_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/pgtest"
	"github.com/world-redis/world-redis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, goleak.Find, redistest.AtEnd(pgtest.End)) }
