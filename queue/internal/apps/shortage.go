package apps

import (
	"fmt"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
)

// shortage is why there is no app for a message.
type shortage struct {
	reason string // one sentence
	advice string // what to do about it
	known  bool   // the deployment has apps, so the configured address is not for it
	urgent bool   // it does not end by itself
}

// shownUnfit bounds the apps that a reason names.
const shownUnfit = 3

// shortageOf explains why none of the apps may have a message. They are sorted newest first.
func shortageOf(apps []world.App, m world.Message, now world.Millis) shortage {
	var lapsed world.App
	var unfit []string
	var seen [otherNamespace + 1]bool
	more := 0
	for _, a := range apps {
		if m.DeploymentID != "" && a.DeploymentID != m.DeploymentID {
			continue
		}
		why := obstacleOf(a, m)
		seen[why] = true
		switch alive := a.AliveUntil > now; {
		case why == fits && lapsed.BaseURL == "" && !alive:
			lapsed = a
		case why == fits || !alive:
		case len(unfit) == shownUnfit:
			more++
		default:
			unfit = append(unfit, a.BaseURL+" "+whatInstead(a, why))
		}
	}
	s := shortage{known: m.DeploymentID != "" && (lapsed.BaseURL != "" || seen[otherSDK] || seen[noStepRoute] || seen[notCalled])}
	var b strings.Builder
	b.WriteString("no app")
	if m.DeploymentID != "" {
		fmt.Fprintf(&b, " of deployment %q", m.DeploymentID)
	}
	b.WriteString(needs(m, seen[otherSDK] || seen[noStepRoute], seen[otherNamespace]))
	if lapsed.BaseURL != "" {
		age := now.Time().Sub(lapsed.SeenAt.Time()).Round(time.Second)
		fmt.Fprintf(&b, " is alive; the last one, at %s, was heard of %s ago", lapsed.BaseURL, age)
	} else {
		b.WriteString(" has registered")
	}
	if len(unfit) > 0 {
		b.WriteString("; there is " + strings.Join(unfit, ", "))
	}
	if more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	s.reason, s.urgent = b.String(), seen[notCalled]
	switch {
	case lapsed.BaseURL != "":
		s.advice = "start it again"
	case seen[notCalled]:
		s.advice = "register the app at another address, or change WORKFLOW_WORLD_APP_HOSTS of this service"
	case len(unfit) > 0 || s.known:
		s.advice = "start such an app"
	default:
		s.advice = "start the app (its world.start() registers it), or set WORKFLOW_BASE_URL of this service"
	}
	return s
}

// needs says what an app must have to take a message, as far as other apps lack it.
func needs(m world.Message, sdk, namespace bool) string {
	var b strings.Builder
	kind, _ := world.QueueKind(m.QueueName)
	if sdk {
		needed := m.SDK
		if needed == "" {
			needed = SDKv4 // it is for a step
		}
		b.WriteString(" with SDK " + needed)
		if kind == world.KindStep {
			b.WriteString(", which has a route for steps,")
		}
	}
	if namespace {
		if name, _ := namespaceFor(m, kind); name != "" {
			fmt.Fprintf(&b, " in the queue namespace %q", name)
		} else {
			b.WriteString(" without a queue namespace")
		}
	}
	return b.String()
}

// whatInstead says why an app that is alive may not have a message.
func whatInstead(a world.App, why obstacle) string {
	switch why {
	case notCalled:
		return "(" + a.Refused + ")"
	case otherNamespace:
		if a.Namespace == "" {
			return "without a queue namespace"
		}
		return fmt.Sprintf("in the queue namespace %q", a.Namespace)
	default:
		return "with SDK " + a.SDK
	}
}
