package luascript

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redis runs the whole text of a script at each call, which creates every function in it again, including shared
// ones. prune leaves out comments and functions that are never used, and inserts constants where they are used. It
// relies on how our files are written: a shared function begins with "local function" and ends with "end" at the
// start of a line, a constant is "local NAME = <number or text>" in capitals on its own line, and text is in single
// quotes. A source that is written differently is left unchanged.
func prune(source string) string {
	if known, ok := pruned.Load(source); ok {
		return known.(string)
	}
	short := pruneAnew(source)
	pruned.Store(source, short)
	return short
}

// pruned caches by source: a process opens the same scripts for every namespace, and tests do so many times.
var pruned sync.Map

func pruneAnew(source string) string {
	blocks, constants, ok := split(source)
	if !ok {
		return source
	}
	for {
		kept := slices.DeleteFunc(slices.Clone(blocks), func(b block) bool {
			return b.function != "" && !slices.ContainsFunc(blocks, func(other block) bool {
				return other.function != b.function && other.names[b.function]
			})
		})
		if len(kept) == len(blocks) {
			break
		}
		blocks = kept
	}
	var out strings.Builder
	for _, b := range blocks {
		out.WriteString(words(b.text, func(word string) string {
			if value, ok := constants[word]; ok {
				return value
			}
			return word
		}))
	}
	return out.String()
}

// block is a shared function, or the text between two of them.
type block struct {
	function, text string
	names          map[string]bool // the words in the text
}

var (
	functionLine = regexp.MustCompile(`^local function (\w+)\(`)
	constantLine = regexp.MustCompile(`^local ([A-Z][A-Z0-9_]+) = (-?\d+|'[^'\\]*')$`)
)

// split returns the blocks and constants of a source; ok is false if it is written differently.
func split(source string) (blocks []block, constants map[string]string, ok bool) {
	constants = map[string]string{}
	var open *block
	for line := range strings.Lines(source) {
		line = uncommented(line)
		if line == "" {
			continue
		}
		if m := constantLine.FindStringSubmatch(line); m != nil && open == nil {
			constants[m[1]] = m[2]
			continue
		}
		if m := functionLine.FindStringSubmatch(line); m != nil {
			if open != nil || strings.HasSuffix(line, "end") {
				return nil, nil, false
			}
			open = &block{function: m[1]}
		}
		if open == nil {
			blocks = append(blocks, block{text: line + "\n"})
			continue
		}
		open.text += line + "\n"
		if line == "end" {
			blocks = append(blocks, *open)
			open = nil
		}
	}
	for i := range blocks {
		blocks[i].names = map[string]bool{}
		words(blocks[i].text, func(word string) string {
			blocks[i].names[word] = true
			return word
		})
	}
	return blocks, constants, open == nil
}

// uncommented returns a line without its comment and trailing space; the indentation stays.
func uncommented(line string) string {
	quoted := false
	for i := range len(line) {
		switch {
		case line[i] == '\'':
			quoted = !quoted
		case !quoted && strings.HasPrefix(line[i:], "--"):
			return strings.TrimRight(line[:i], " \n")
		}
	}
	return strings.TrimRight(line, " \n")
}

// words replaces the words of a text, except those in quotes, field names, and variables that are assigned.
func words(text string, with func(string) string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && isWord(text[j]) {
			j++
		}
		if j == i {
			quoted = quoted != (text[i] == '\'')
			out.WriteByte(text[i])
			i++
			continue
		}
		word := text[i:j]
		isField := strings.HasSuffix(text[:i], ".") && !strings.HasSuffix(text[:i], "..")
		rest := strings.TrimLeft(text[j:], " ")
		isSet := strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==")
		if !quoted && !isField && !isSet {
			word = with(word)
		}
		out.WriteString(word)
		i = j
	}
	return out.String()
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
