package leader

import (
	"testing"

	"github.com/world-redis/world-redis/internal/luagolden"
)

// The text of each script that is sent to Redis equals the committed file.
func TestScriptsAreSentAsCommitted(t *testing.T) {
	t.Parallel()
	luagolden.Check(t, luaFiles)
}
