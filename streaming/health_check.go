package streaming

import (
	"strings"
	"time"
)

const (
	// healthCheckPrefix begins the names of the streams by which the SDK answers a health check. They belong to no
	// run: v4 invents a run id, and v5 derives one from the name.
	healthCheckPrefix = "__health_check__"
	// healthCheckLife is how long such a stream is kept after the last write. Its reader waits some seconds, and
	// nobody reads it again.
	healthCheckLife = time.Hour
)

func isHealthCheck(name string) bool { return strings.HasPrefix(name, healthCheckPrefix) }

// lifeOf returns how long a stream is kept after the last write; 0 means as long as its run.
func lifeOf(name string) time.Duration {
	if isHealthCheck(name) {
		return healthCheckLife
	}
	return 0
}
