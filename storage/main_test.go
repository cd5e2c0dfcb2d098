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
	// These tests mostly wait for Redis, so more of them at a time than there are processors. What is
	// given as -parallel still holds: it is read later.
	if err := flags.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	redistest.Main(m, goleak.Find, redistest.OnCluster)
}
