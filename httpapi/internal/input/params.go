package input

import (
	"unicode/utf8"

	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// Limits of texts that several operations read.
const (
	MaxName    = 4096 // bytes of a queue, workflow, step or deployment name
	MaxCursor  = 4096 // bytes
	MaxResolve = 16   // bytes of a word such as all or none
	maxTexts   = 64   // in a list of what an app can do
)

// CheckText refuses a text that is empty, too long or not UTF-8.
func CheckText(name, s string, limit int) error {
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
