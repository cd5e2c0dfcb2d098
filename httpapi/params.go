package httpapi

import (
	"unicode/utf8"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

const (
	maxStreamName = world.MaxStreamName
	maxToken      = world.MaxToken
	maxName       = 4096          // bytes of a queue, workflow, step or deployment name
	maxCursor     = 4096          // bytes
	maxLimit      = world.MaxPage // what a larger limit is taken as
)

func checkText(name, s string, limit int) error {
	switch {
	case s == "":
		return refuse.Invalid("%s is missing", name)
	case len(s) > limit:
		return refuse.Invalid("%s has %d bytes, the limit is %d", name, len(s), limit)
	case !utf8.ValidString(s):
		return refuse.Invalid("%s is not UTF-8", name)
	default:
		return nil
	}
}

func resolveNone(resolveData string) (bool, error) {
	switch resolveData {
	case "", "all":
		return false, nil
	case "none":
		return true, nil
	default:
		return false, refuse.Invalid("resolveData must be all or none")
	}
}
