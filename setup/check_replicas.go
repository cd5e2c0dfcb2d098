package setup

import (
	"context"
	"fmt"
	"strings"
)

// checkReplicas checks that WAIT is allowed and that enough replicas are connected. Too few of them is a warning: the
// service starts, and answers writes with 503 until they are back.
func checkReplicas(ctx context.Context, wanted int) func(*node) Check {
	return func(n *node) Check {
		c := Check{Name: "replicas", Verdict: OK}
		connected := 0
		for name, value := range n.info {
			if strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online") {
				connected++
			}
		}
		err := n.client.Do(ctx, "WAIT", 0, 1).Err()
		switch {
		case err != nil:
			c.Verdict, c.Refuse = Fail, true
			c.Message = fmt.Sprintf("the replicas cannot confirm writes: WAIT: %v", err)
			c.Advice = "Allow WAIT for the Redis user (+wait), or set WORKFLOW_WORLD_DURABILITY=local."
		case n.info == nil:
			c.Verdict, c.Message = Warn, "unknown: the server does not allow the check"
			c.Advice = fmt.Sprintf("Make sure that at least %d replicas are connected.", wanted)
		case connected < wanted:
			c.Verdict = Warn
			c.Message = fmt.Sprintf("%d connected, and WORKFLOW_WORLD_DURABILITY requires %d: writes answer 503", connected, wanted)
			c.Advice = "Connect more replicas (REPLICAOF), or lower WORKFLOW_WORLD_DURABILITY."
		default:
			c.Message = fmt.Sprintf("%d connected, %d confirm each write", connected, wanted)
		}
		return c
	}
}
