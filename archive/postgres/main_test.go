package postgres_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/pgtest"
)

const (
	patience = 30 * time.Second
	tick     = 20 * time.Millisecond
)

func TestMain(m *testing.M) { pgtest.Main(m, goleak.Find) }
