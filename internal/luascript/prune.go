package luascript

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redis runs the whole text of a script at each call, and so makes every function in it anew, with all
// that they share. prune leaves out what a call would make for nothing: comments, and functions that
// nothing names; and it writes constants where they are used. What it knows of Lua is how our files are
// written: a shared function begins with "local function" and ends with "end" at the beginning of a
// line, a constant is "local NAME = <number or text>" in capitals on a line of its own, and text stands
// in single quotes. A source that is written in another way stays as it is.
func prune(source string) string {
	if known, ok := pruned.Load(source); ok {
		return known.(string)
	}
	short := pruneAnew(source)
	pruned.Store(source, short)
	return short
}

// pruned remembers by source: a process opens the same scripts for every namespace, and tests many times.
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

// block is a shared function, or what stands between two.
type block struct {
	function, text string
	names          map[string]bool // the words in the text
}

var (
	functionLine = regexp.MustCompile(`^local function (\w+)\(`)
	constantLine = regexp.MustCompile(`^local ([A-Z][A-Z0-9_]+) = (-?\d+|'[^'\\]*')$`)
)

// split returns the blocks and constants of a source; ok is false when it is written in another way.
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

// uncommented returns a line without its comment and the space around it, but for what indents it.
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

// words replaces the words of a text that do not stand in quotes, and are not what a field or a
// variable that gets a value is called.
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
