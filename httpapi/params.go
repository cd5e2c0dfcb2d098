package httpapi

import (
	"unicode/utf8"

	"github.com/world-redis/world-redis"
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
		return invalid("%s is missing", name)
	case len(s) > limit:
		return invalid("%s has %d bytes, the limit is %d", name, len(s), limit)
	case !utf8.ValidString(s):
		return invalid("%s is not UTF-8", name)
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
		return false, invalid("resolveData must be all or none")
	}
}
