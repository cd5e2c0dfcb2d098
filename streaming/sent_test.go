package streaming

import (
	"testing"

	"github.com/world-redis/world-redis/internal/luagolden"
)

// What Redis gets of each script is what is committed.
func TestScriptsAreSentAsCommitted(t *testing.T) {
	t.Parallel()
	luagolden.Check(t, luaFiles)
}
