package world

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxRetention is the longest time that a run may be kept by a rule: ten years. Without a rule it is kept for ever.
const MaxRetention = 3650 * 24 * time.Hour

// maxRetentionRules bounds the rules of a Retention: each end of a run looks at all of them.
const maxRetentionRules = 100

// Retention says how long runs are kept after they have ended. The zero value keeps them for ever.
type Retention struct{ rules []retentionRule }

// retentionRule is a duration for runs of a status. pattern is empty for all workflows.
type retentionRule struct {
	pattern string
	status  RunStatus
	kept    time.Duration
}

// ParseRetention reads rules that are separated by commas: `<status>=<duration>` for all workflows, and
// `<pattern>:<status>=<duration>` for those whose name the pattern matches. A status is completed, failed or cancelled, a duration
// is a number with one of the units s, m, h, d and w: from 1s to MaxRetention. A pattern is one of [path.Match], so * matches any
// text without a slash. It is compared with the full name of a workflow, and with what follows the last slash in it.
func ParseRetention(text string) (Retention, error) {
	var r Retention
	if strings.TrimSpace(text) == "" {
		return r, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		rule, err := parseRetentionRule(strings.TrimSpace(part))
		if err != nil {
			return Retention{}, err
		}
		for _, other := range r.rules {
			if other.pattern == rule.pattern && other.status == rule.status {
				return Retention{}, fmt.Errorf("there are two rules for %s", strings.TrimPrefix(rule.pattern+":"+string(rule.status), ":"))
			}
		}
		r.rules = append(r.rules, rule)
	}
	if len(r.rules) > maxRetentionRules {
		return Retention{}, fmt.Errorf("there are %d rules, and at most %d are allowed", len(r.rules), maxRetentionRules)
	}
	return r, nil
}

func parseRetentionRule(text string) (retentionRule, error) {
	var rule retentionRule
	if text == "" {
		return rule, errors.New("a rule is empty: write rules as completed=7d, separated by single commas")
	}
	what, kept, found := strings.Cut(text, "=")
	if !found {
		return rule, fmt.Errorf("the rule %q has no duration: write it as completed=7d", text)
	}
	what = strings.TrimSpace(what)
	status := what
	if colon := strings.LastIndexByte(what, ':'); colon >= 0 {
		rule.pattern, status = strings.TrimSpace(what[:colon]), strings.TrimSpace(what[colon+1:])
		if rule.pattern == "" {
			return rule, fmt.Errorf("the rule %q has no workflow before its colon", text)
		}
	}
	if _, err := path.Match(rule.pattern, ""); err != nil {
		return rule, fmt.Errorf("the rule %q has a pattern that cannot be read: a [ lacks its ]", text)
	}
	rule.status = RunStatus(status)
	switch {
	case rule.status.Terminal():
	case rule.pattern == "" && status != "" && slices.ContainsFunc([]string{"*", "?", "/", "-"}, func(mark string) bool { return strings.Contains(status, mark) }):
		return rule, fmt.Errorf("the rule %q has no status: write it as %s:completed=%s", text, status, kept)
	case status == "":
		return rule, fmt.Errorf("the rule %q has no status: use completed, failed or cancelled", text)
	default:
		return rule, fmt.Errorf("the rule %q has the status %q: use completed, failed or cancelled; a rule for a workflow has its name and a colon before the status", text, status)
	}
	var err error
	if rule.kept, err = ParseKept(strings.TrimSpace(kept)); err != nil {
		return rule, fmt.Errorf("the rule %q: %w", text, err)
	}
	return rule, nil
}

// keptUnits are the units of a duration in a rule.
var keptUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseKept reads a duration of ParseRetention.
func ParseKept(text string) (time.Duration, error) {
	if text == "" {
		return 0, errors.New("the duration is empty: use a number with a unit, such as 36h or 7d")
	}
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("the duration %q is negative", text)
	}
	unit, known := keptUnits[text[len(text)-1]]
	digits := text[:len(text)-1]
	if !known || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("the duration %q cannot be read: use a whole number with one of the units s, m, h, d and w, such as 36h or 7d", text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case digits == "":
		return 0, fmt.Errorf("the duration %q has no number", text)
	case err != nil || n > int64(MaxRetention/unit):
		return 0, fmt.Errorf("the duration %q is too long: at most 3650d", text)
	case n == 0:
		return 0, fmt.Errorf("the duration %q is too short: at least 1s", text)
	}
	return time.Duration(n) * unit, nil
}

// For returns how long a run of a workflow is kept after it ended with the status; ok is false if no rule says so. The first rule
// counts whose pattern matches the workflow, and otherwise the rule for all workflows.
func (r Retention) For(workflowName string, status RunStatus) (kept time.Duration, ok bool) {
	for _, rule := range r.rules {
		switch {
		case rule.status != status:
		case rule.pattern == "":
			kept, ok = rule.kept, true
		case rule.matches(workflowName):
			return rule.kept, true
		}
	}
	return kept, ok
}

func (rule retentionRule) matches(workflowName string) bool {
	if full, _ := path.Match(rule.pattern, workflowName); full {
		return true
	}
	short, _ := path.Match(rule.pattern, workflowName[strings.LastIndexByte(workflowName, '/')+1:])
	return short
}

// Any reports whether there is a rule.
func (r Retention) Any() bool { return len(r.rules) > 0 }

// Names reports whether a rule depends on the name of the workflow.
func (r Retention) Names() bool {
	return slices.ContainsFunc(r.rules, func(rule retentionRule) bool { return rule.pattern != "" })
}

// String returns the rules in a form that is the same for the same rules.
func (r Retention) String() string {
	rules := make([]string, len(r.rules))
	for i, rule := range r.rules {
		rules[i] = strings.TrimPrefix(rule.pattern+":"+string(rule.status), ":") + "=" + rule.kept.String()
	}
	return strings.Join(rules, ",")
}

// RetentionAttribute is the attribute by which a run says itself how long it is kept after its end. "0" says that it keeps
// nothing, a duration of [ParseKept] when it is removed.
const RetentionAttribute = "$retention"

// OwnRetention reads the value of RetentionAttribute. ok is false if it is no duration: then the rules count.
func OwnRetention(value string) (kept time.Duration, ok bool) {
	kept, err := ParseKept(value)
	return kept, err == nil
}
