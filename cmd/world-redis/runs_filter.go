package main

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// parentAttribute is the attribute by which SDK v5 names the run that started another one.
const parentAttribute = "$parentRunId"

// The groups of statuses that the commands act on.
var (
	activeStatuses = []string{string(world.RunPending), string(world.RunRunning), string(world.RunPaused)}
	endedStatuses  = []string{string(world.RunCompleted), string(world.RunFailed), string(world.RunCancelled)}
)

// runFilter selects runs. The service applies the name, the statuses and the ages; this command compares the rest.
type runFilter struct {
	workflow             string
	statuses, attributes []string
	olderThan, newerThan age
	parent               string

	from, before int64       // ms; bounds of the time in a run's id
	pattern      string      // of the name, as in a rule of WORKFLOW_WORLD_RETENTION; empty if workflow is a whole name
	wanted       [][2]string // attributes; an empty value of "key" alone is marked by anyValue
}

// anyValue stands for every value of an attribute.
const anyValue = "\x00"

func (f *runFilter) flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.workflow, "workflow", "", "name of the workflow, as `ls` shows it, or a pattern for it or for what follows its last slash: report, report-*")
	flags.StringSliceVar(&f.statuses, "status", nil, "pending, running, paused, completed, failed or cancelled; several with commas")
	flags.Var(&f.olderThan, "older-than", "only runs created longer ago than this: 30m, 36h, 7d")
	flags.Var(&f.newerThan, "newer-than", "only runs created within this time: 30m, 36h, 7d")
	flags.StringArrayVar(&f.attributes, "attribute", nil, "only runs with this attribute, key=value or key alone; several must all match")
	flags.StringVar(&f.parent, "parent", "", "only runs that this run has started (SDK v5: "+parentAttribute+")")
}

// empty reports whether the filter selects every run.
func (f *runFilter) empty() bool {
	return f.workflow == "" && len(f.statuses) == 0 && f.olderThan == 0 && f.newerThan == 0 && len(f.attributes) == 0 && f.parent == ""
}

// prepare checks the filter and fixes its times. It must be called before the others.
func (f *runFilter) prepare(now time.Time) error {
	for _, status := range f.statuses {
		if !slices.Contains(activeStatuses, status) && !slices.Contains(endedStatuses, status) {
			return fmt.Errorf("--status %s: use pending, running, paused, completed, failed or cancelled", status)
		}
	}
	if f.olderThan > 0 {
		f.before = now.Add(-time.Duration(f.olderThan)).UnixMilli()
	}
	if f.newerThan > 0 {
		f.from = now.Add(-time.Duration(f.newerThan)).UnixMilli()
	}
	if f.before > 0 && f.from >= f.before {
		return errors.New("--older-than and --newer-than exclude every run: no run is both")
	}
	if f.workflow != "" && (strings.ContainsAny(f.workflow, `*?[\`) || !strings.Contains(f.workflow, "/")) {
		f.pattern = f.workflow
		if _, err := path.Match(f.pattern, ""); err != nil {
			return fmt.Errorf("--workflow %s: a [ lacks its ]", f.workflow)
		}
	}
	for _, text := range f.attributes {
		key, value, hasValue := strings.Cut(text, "=")
		if key == "" {
			return fmt.Errorf("--attribute %q: use key=value, or key alone", text)
		}
		if !hasValue {
			value = anyValue
		}
		f.wanted = append(f.wanted, [2]string{key, value})
	}
	if f.parent != "" {
		f.wanted = append(f.wanted, [2]string{parentAttribute, f.parent})
		if created, ok := ids.Time("wrun_", f.parent); ok {
			f.from = max(f.from, int64(created)) // no run is older than its parent
		}
	}
	return nil
}

// inService reports whether the service applies the whole filter.
func (f *runFilter) inService() bool { return f.pattern == "" && len(f.wanted) == 0 }

// query returns what the service applies.
func (f *runFilter) query() url.Values {
	query := url.Values{"resolveData": {"none"}}
	if f.workflow != "" && f.pattern == "" {
		query.Set("workflowName", f.workflow)
	}
	for _, status := range f.statuses {
		query.Add("status", status)
	}
	if f.from > 0 {
		query.Set("createdFrom", strconv.FormatInt(f.from, 10))
	}
	if f.before > 0 {
		query.Set("createdBefore", strconv.FormatInt(f.before, 10))
	}
	return query
}

// match applies what the service does not.
func (f *runFilter) match(r runLine) bool {
	if f.pattern != "" && !matchesName(f.pattern, r.WorkflowName) {
		return false
	}
	for _, want := range f.wanted {
		if value, has := r.Attributes[want[0]]; !has || want[1] != anyValue && value != want[1] {
			return false
		}
	}
	return true
}

// matchesName compares a pattern with the full name of a workflow, and with what follows the last slash in it.
func matchesName(pattern, name string) bool {
	full, _ := path.Match(pattern, name)
	short, _ := path.Match(pattern, name[strings.LastIndexByte(name, '/')+1:])
	return full || short
}

// age is a duration that may have days: 7d, 1d12h. It is a flag's value.
type age time.Duration

// String implements pflag.Value.
func (a *age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Type implements pflag.Value.
func (*age) Type() string { return "duration" }

// Set implements pflag.Value.
func (a *age) Set(text string) error {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30m, 36h or 7d", text)
	}
	total := time.Duration(n) * 24 * time.Hour //nolint:gosec // at most 65,535
	if rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30m, 36h or 7d", text)
		}
		total += more
	}
	if total <= 0 {
		return fmt.Errorf("%q is not more than 0", text)
	}
	*a = age(total)
	return nil
}
