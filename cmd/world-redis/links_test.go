package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var (
	fenced     = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	mdLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading  = regexp.MustCompile(`(?m)^#+ +(.+?)\s*$`)
	htmlAnchor = regexp.MustCompile(`<a id="([^"]+)">`)
	boldLead   = regexp.MustCompile(`\*\*([^*]+?)\.?\*\*`)
	// A section that is cited by its title, such as docs/protocol.md, "Budgets".
	titleCited = regexp.MustCompile(`([\w-]+\.md)\)?, "([^"\n]+)"`)
	// A file of the repository in Markdown, in backticks. A name without a folder is not checked.
	pathCited = regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)+\\.(?:go|lua|ts|mjs|yaml|yml|md))`")
)

// Links in Markdown lead to an existing file, and to one of its headings if they name one.
func TestMarkdownLinksResolve(t *testing.T) {
	t.Parallel()
	count := 0
	eachText(t, []string{".md"}, func(path, text string) {
		text = inlineCode.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
		for _, found := range mdLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(found[1], "#")
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			_, err := os.Stat(file)
			require.NoError(t, err, "%s links to %s", path, found[1])
			if anchor != "" {
				require.Contains(t, anchorsOf(t, file), anchor, "%s links to %s", path, found[1])
			}
			count++
		}
	})
	require.Greater(t, count, 100)
}

// A section that is cited by its title exists, and so does a file that Markdown names. CHANGELOG.md names files of
// earlier versions.
func TestCitedTitlesAndPathsExist(t *testing.T) {
	t.Parallel()
	titles, paths := map[string][]string{}, []string{}
	eachText(t, []string{".md"}, func(path, text string) {
		for _, pattern := range []*regexp.Regexp{mdHeading, boldLead} {
			for _, found := range pattern.FindAllStringSubmatch(text, -1) {
				titles[filepath.Base(path)] = append(titles[filepath.Base(path)], found[1])
			}
		}
	})
	eachText(t, []string{".go", ".lua", ".ts", ".mjs", ".md", ".yaml", ".yml"}, func(path, text string) {
		paths = append(paths, filepath.ToSlash(path))
		for _, found := range titleCited.FindAllStringSubmatch(text, -1) {
			require.Contains(t, titles[found[1]], found[2], "%s cites %s", path, found[0])
		}
	})
	eachText(t, []string{".md"}, func(path, text string) {
		if filepath.Base(path) == "CHANGELOG.md" {
			return
		}
		for _, found := range pathCited.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			require.Condition(t, func() bool { return endsAny(paths, "/"+found[1]) }, "%s names %s, which is not there", path, found[1])
		}
	})
}

func endsAny(paths []string, end string) bool {
	for _, path := range paths {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// anchorsOf returns the anchors that a link may name after # in a Markdown file, as GitHub makes them from headings.
func anchorsOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	plain := fenced.ReplaceAllString(string(text), "")
	var out []string
	seen := map[string]int{}
	for _, found := range mdHeading.FindAllStringSubmatch(plain, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, found[1])
		n := seen[anchor]
		seen[anchor]++
		if n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		out = append(out, anchor)
	}
	for _, found := range htmlAnchor.FindAllStringSubmatch(plain, -1) {
		out = append(out, found[1])
	}
	return out
}
