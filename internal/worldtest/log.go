package worldtest

import (
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

// Log stores what is written to it, such as a log or a command's output. Several goroutines may use it.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Logger returns a logger that writes to it.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Take returns everything written so far and forgets it.
func (l *Log) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// Count returns how often a text was written.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Find returns the first match of a pattern and its groups; nil if there is none yet.
func (l *Log) Find(pattern *regexp.Regexp) []string { return pattern.FindStringSubmatch(l.String()) }
