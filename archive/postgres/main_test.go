package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, goleak.Find) }
