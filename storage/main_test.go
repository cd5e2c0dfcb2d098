package storage

import (
	flags "flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/redistest"
)

func TestMain(m *testing.M) {
	// These tests mostly wait for Redis, so more of them run in parallel than there are processors. An explicit
	// -parallel still takes precedence, because it is read later.
	if err := flags.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	redistest.Main(m, goleak.Find, redistest.OnCluster)
}
