package apps

import (
	"slices"
	"strings"

	"github.com/world-redis/world-redis"
)

const (
	// othersFor is how long the workflows of another process count after it registered: as long as a client's lease.
	othersFor = 90_000 // ms
	// othersMost bounds their names, in bytes.
	othersMost = 8192
)

// keepWorkflows adds to a registration what the one before says of workflows. Processes with the same address and
// deployment share a registration, and they may be different apps, if none of them names its deployment.
func keepWorkflows(a *world.App, before world.App) {
	if a.Workflows == "" { // sent with a message, or by an older client
		a.Workflows, a.OtherWorkflows, a.OthersUntil = before.Workflows, before.OtherWorkflows, before.OthersUntil
		return
	}
	if before.OthersUntil > a.SeenAt {
		a.OtherWorkflows, a.OthersUntil = before.OtherWorkflows, before.OthersUntil
	}
	if before.Workflows != a.Workflows && before.Workflows != "" {
		a.OtherWorkflows, a.OthersUntil = before.Workflows+"\n"+a.OtherWorkflows, a.SeenAt+othersFor
	}
	own := strings.Split(a.Workflows, "\n")
	var others []string
	size := 0
	for name := range strings.SplitSeq(a.OtherWorkflows, "\n") {
		if name == "" || slices.Contains(own, name) || slices.Contains(others, name) || size+len(name) >= othersMost {
			continue
		}
		size += len(name) + 1
		others = append(others, name)
	}
	slices.Sort(others)
	a.OtherWorkflows = strings.Join(others, "\n")
	if a.OtherWorkflows == "" {
		a.OthersUntil = 0
	}
}

// HasWorkflow reports whether a process that registered this app has the workflow of a message.
func HasWorkflow(a world.App, m world.Message, now world.Millis) bool {
	_, name, ok := strings.Cut(m.QueueName, "wkf_workflow_")
	if !ok || name == "" {
		return false
	}
	return contains(a.Workflows, name) || a.OthersUntil > now && contains(a.OtherWorkflows, name)
}

// contains reports whether a name is a line of a text.
func contains(names, name string) bool {
	for one := range strings.SplitSeq(names, "\n") {
		if one == name {
			return true
		}
	}
	return false
}
