package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const repository = "../.."

// The sections of the contract and the faults that code, tests and documents cite exist.
func TestCitationsLeadSomewhere(t *testing.T) {
	t.Parallel()
	sections := matches(t, filepath.Join(repository, "docs/contract.md"), `(?m)^#+ §([\d.]+) `)
	faults := matches(t, filepath.Join(repository, "docs/faults.md"), `<a id="br-(\d+)"></a>`)
	require.NotEmpty(t, sections)
	require.NotEmpty(t, faults)
	section, fault := regexp.MustCompile(`contract §(\d+(?:\.\d+)?)`), regexp.MustCompile(`\bBR-?(\d\d)`)
	cited := 0
	eachText(t, []string{".go", ".lua", ".ts", ".mjs", ".md"}, func(path, text string) {
		for _, found := range section.FindAllStringSubmatch(text, -1) {
			require.Contains(t, sections, found[1], "%s cites contract §%s", path, found[1])
			cited++
		}
		for _, found := range fault.FindAllStringSubmatch(text, -1) {
			require.Contains(t, faults, found[1], "%s cites BR-%s", path, found[1])
			cited++
		}
	})
	require.Greater(t, cited, 200)
}

// eachText calls do with every file of the repository that is ours and has one of these extensions.
func eachText(t *testing.T, extensions []string, do func(path, text string)) {
	t.Helper()
	others := []string{"node_modules", ".git", ".well-known", ".tools", ".cache", "bin", "out", "build-test", "dist"}
	require.NoError(t, filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(others, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			do(path, string(text))
		}
		return err
	}))
}

func matches(t *testing.T, path, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		out = append(out, found[1])
	}
	return out
}
