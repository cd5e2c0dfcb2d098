package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noKeys are texts after the key prefix in the code that are not keys: channels, and parts of the keys of a namespace.
var noKeys = map[string]bool{"run_ended": true, "stream_notify": true, "ns": true}

// eachFile calls look with each file of the packages that use Redis, except tests.
func eachFile(t *testing.T, endings []string, look func(path, text string)) {
	t.Helper()
	for _, folder := range []string{
		"storage", "streaming", "queue", "internal/recovery", "internal/leader", "internal/redismemory", "internal/doorbell", "internal/luascript", "cmd/world-redis",
	} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || strings.HasSuffix(path, "_test.go") || !slices.Contains(endings, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // of this repository
			if err == nil {
				look(path, string(text))
			}
			return err
		}))
	}
}

// This package knows every kind of key that the code builds: each is a literal after the prefix.
func TestKindsInTheCodeAreKnown(t *testing.T) {
	t.Parallel()
	known := newScope("workflow:", "workflow_").known
	literals := []*regexp.Regexp{
		regexp.MustCompile(`\b(?:prefix|Prefix|keyPrefix|KeyPrefix) ?\+ ?(?:fmt\.Sprintf\()?"([a-z_]+(?::[a-z_]+)?)`),
		regexp.MustCompile(`"%s([a-z_]+(?::[a-z_]+)?)[:{].*\b(?:prefix|Prefix|keyPrefix|KeyPrefix)\b`),
	}
	found := map[string]bool{}
	eachFile(t, []string{".go"}, func(path, text string) {
		for _, literal := range literals {
			for _, match := range literal.FindAllStringSubmatch(text, -1) {
				kind := match[1]
				if first, _, _ := strings.Cut(kind, ":"); noKeys[first] {
					continue
				}
				found[kind] = true
				require.NotEmpty(t, knownKind(kind+":x", known), "%s builds keys of kind %q, which setup/structure.go lacks", path, kind)
			}
		}
	})
	for kind := range known {
		require.True(t, found[kind], "no code builds keys of kind %q any more, or in another way than this test sees", kind)
	}
}

// The rights check tries every command of the scripts and of the code's own calls.
func TestCommandsInTheCodeAreTried(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, name := range commandNames() {
		first, _, _ := strings.Cut(name, " ")
		tried[first] = true
	}
	calls := []*regexp.Regexp{
		regexp.MustCompile(`redis\.p?call\(\s*['"]([A-Z]+)`),
		regexp.MustCompile(`\.Do\(ctx, "([A-Z]+)"`),
		regexp.MustCompile(`\.(ZAdd|ZRem|ZCard|ZScore|ZMScore|ZRange|ZCount|HGet|HSet|HMGet|HDel|HGetAll|HExists|HStrLen|HLen|HScan|SCard|SScan|SRem|SMembers|SAdd|LRange|LLen|XAdd|XRange|XLen|Unlink|PExpire|Expire|StrLen|Publish|Exists|SetNX|MGet|Incr|PTTL|ZRangeByScore|ZRangeByLex|ZPopMin)\(ctx`),
	}
	found := 0
	eachFile(t, []string{".go", ".lua"}, func(path, text string) {
		for _, call := range calls {
			for _, match := range call.FindAllStringSubmatch(text, -1) {
				found++
				require.True(t, tried[strings.ToUpper(match[1])], "%s uses %s, which setup/check_rights.go does not try", path, match[1])
			}
		}
	})
	require.Greater(t, found, 300)
}

// The ACL rule in the documentation is the one that the check recommends.
func TestRuleInTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), ACLRule([]Prefixes{{Keys: "workflow:", Jobs: "workflow_"}})+" on >PASSWORD\n")
}
