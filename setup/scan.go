package setup

import (
	"context"
	"fmt"
	"strings"
)

const (
	scanCount = 5000 // keys that Redis visits in one SCAN call, which takes it one or two milliseconds
	batchMost = 500  // keys per batch
)

// scope selects an installation's own keys.
type scope struct {
	prefix    string
	jobPrefix string
	queues    []string // prefixes of asynq's keys of the two queues
	known     map[string]bool
}

func newScope(prefix, jobPrefix string) scope {
	s := scope{prefix: prefix, jobPrefix: jobPrefix, known: map[string]bool{}}
	for _, name := range queueNames(jobPrefix) {
		s.queues = append(s.queues, "asynq:{"+name+"}:")
	}
	for _, k := range structures() {
		s.known[k.kind] = true
	}
	return s
}

// queueNames are the names of the two queues in asynq.
func queueNames(jobPrefix string) []string { return []string{jobPrefix + "flows", jobPrefix + "steps"} }

// kindOf returns the kind of a key; own is false if the key does not belong to this installation.
func (s scope) kindOf(key string) (kind string, own bool) {
	for _, queue := range s.queues {
		if strings.HasPrefix(key, queue) {
			return queueKind().kind, true
		}
	}
	rest, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return "", false
	}
	return classify(rest, s.known)
}

// patterns are the SCAN patterns that match every key of the scope.
func (s scope) patterns() []string {
	return []string{escapeGlob(s.prefix) + "*", escapeGlob("asynq:{"+s.jobPrefix) + "*"}
}

// escapeGlob escapes a text so that it matches only itself in a Redis pattern.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(text)
}

// walk calls visit with all keys that match the scope's prefixes, in batches of at most batchMost. SCAN may return a
// key twice, and keys that are created or deleted in the meantime. looked is called with the number of keys that
// Redis has visited, including those of others, and the total.
func (s scope) walk(ctx context.Context, nodes []*node, visit func(keys []string) error, looked func(n, of int64) error) error {
	total, done := int64(0), int64(0)
	for _, n := range nodes {
		size, err := n.client.DBSize(ctx).Result()
		if err != nil && !refused(err) {
			return fmt.Errorf("DBSIZE: %w", err)
		}
		total += size * int64(len(s.patterns()))
	}
	for _, n := range nodes {
		for _, pattern := range s.patterns() {
			for cursor := uint64(0); ; {
				keys, next, err := n.client.Scan(ctx, cursor, pattern, scanCount).Result()
				if err != nil {
					return fmt.Errorf("SCAN: %w", err)
				}
				for len(keys) > 0 {
					batch := keys[:min(len(keys), batchMost)]
					if err := visit(batch); err != nil {
						return err
					}
					keys = keys[len(batch):]
				}
				done = min(done+scanCount, total)
				if err := looked(done, total); err != nil {
					return err
				}
				if cursor = next; cursor == 0 {
					break
				}
			}
		}
	}
	return nil
}

// count fills in the report's keys.
func (s scope) count(ctx context.Context, nodes []*node, r *Report, looked func(n, of int64) error) error {
	counts := map[string]int64{}
	r.OtherKeys = 0
	err := s.walk(ctx, nodes, func(keys []string) error {
		for _, key := range keys {
			switch kind, own := s.kindOf(key); {
			case own:
				counts[kind]++
			case strings.HasPrefix(key, s.prefix):
				r.OtherKeys++
			}
		}
		return nil
	}, looked)
	if err != nil {
		return err
	}
	r.Keys, r.TotalKeys = nil, 0
	kinds := append(structures(), queueKind())
	if counts[otherKind] > 0 {
		kinds = append(kinds, structure{otherKind, "", "nothing that this version knows"})
	}
	for _, k := range kinds {
		r.Keys = append(r.Keys, KeyCount{Kind: k.kind, Type: k.redisType, Holds: k.holds, Count: counts[k.kind]})
		r.TotalKeys += counts[k.kind]
	}
	return nil
}
