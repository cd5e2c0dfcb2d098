package setup

import (
	"context"
	"fmt"
	"strings"
)

// checkBuilds says which replicas of the service are alive, and whether their builds know removed runs: otherwise no run is removed.
func (c *call) checkBuilds(ctx context.Context) {
	if c.options.Replicas == nil {
		return
	}
	all, err := c.options.Replicas(ctx)
	if err != nil {
		c.report.add(Check{Name: "builds", Verdict: Warn, Message: "unknown: " + err.Error()})
		return
	}
	c.report.Replicas = all
	check := Check{Name: "builds", Verdict: OK, Message: "no replica of the service is running"}
	var lines []string
	for _, r := range all {
		build := "build " + r.Version
		if r.Version == "" {
			build = "an older build"
		}
		if r.Older {
			check.Verdict = Warn
			check.Advice = "No run is removed while a replica of an older build is alive: it would create removed runs anew. Stop it, or upgrade it."
		}
		lines = append(lines, fmt.Sprintf("%s (pid %d) %s", r.Host, r.PID, build))
	}
	if len(lines) > 0 {
		check.Message = strings.Join(lines, ", ")
	}
	c.report.add(check)
}
