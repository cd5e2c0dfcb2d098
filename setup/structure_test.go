package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noKeys are what the code puts behind the key prefix that are no keys: channels, and what goes on with the
// keys of a namespace.
var noKeys = map[string]bool{"run_ended": true, "stream_notify": true, "ns": true}

// Every kind of key that the code builds is one that this package knows: each stands in a literal behind the
// prefix.
func TestKindsInTheCodeAreKnown(t *testing.T) {
	t.Parallel()
	known := newScope("workflow:", "workflow_").known
	literals := []*regexp.Regexp{
		regexp.MustCompile(`\b(?:prefix|Prefix|keyPrefix|KeyPrefix) ?\+ ?(?:fmt\.Sprintf\()?"([a-z_]+(?::[a-z_]+)?)`),
		regexp.MustCompile(`"%s([a-z_]+(?::[a-z_]+)?)[:{].*\b(?:prefix|Prefix|keyPrefix|KeyPrefix)\b`),
	}
	found := map[string]bool{}
	for _, folder := range []string{"storage", "streaming", "queue", "internal/recovery", "cmd/world-redis"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file) //nolint:gosec // of this repository
			require.NoError(t, err)
			for _, literal := range literals {
				for _, match := range literal.FindAllStringSubmatch(string(text), -1) {
					kind := match[1]
					if first, _, _ := strings.Cut(kind, ":"); noKeys[first] {
						continue
					}
					found[kind] = true
					require.NotEmpty(t, knownKind(kind+":x", known), "%s builds keys of kind %q, which setup/structure.go lacks", file, kind)
				}
			}
		}
	}
	for kind := range known {
		require.True(t, found[kind], "no code builds keys of kind %q any more, or in another way than this test sees", kind)
	}
}
