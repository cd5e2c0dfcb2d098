package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/world-redis/world-redis"
)

// obstacle is why an app may not have a message of its deployment.
type obstacle int

const (
	fits      obstacle = iota
	notCalled          // the service does not connect to it
	otherSDK
	noStepRoute // apps of SDK v5 have none: there flow deliveries run the steps
	otherNamespace
)

// obstacleOf returns why an app may not have a message: it must be of the same namespace, and of an SDK
// that can go on with the run. A deployment that moved on from v4 to v5 goes on with its runs, but
// not with the messages of their steps.
func obstacleOf(a world.App, m world.Message) obstacle {
	if a.Refused != "" {
		return notCalled
	}
	kind, _ := world.QueueKind(m.QueueName)
	if kind == world.KindStep && a.SDK == sdkV5 {
		return noStepRoute
	}
	if m.SDK != "" && a.SDK != "" && m.SDK != a.SDK {
		upgraded := m.SDK == sdkV4 && m.DeploymentID == a.DeploymentID
		if !upgraded {
			return otherSDK
		}
	}
	if namespace, isTold := namespaceFor(m, kind); isTold && a.Namespace != namespace {
		return otherNamespace
	}
	return fits
}

// namespaceFor returns the queue namespace of the apps that may have a message; isTold is false when it may
// be any.
func namespaceFor(m world.Message, kind world.Kind) (namespace string, isTold bool) {
	namespace, inName := world.QueueNamespace(m.QueueName)
	if !inName && kind == world.KindStep {
		// v4 leaves it out of the names of steps (contract §4.1); then the sender may have told.
		return m.Namespace, m.Namespace != ""
	}
	return namespace, true
}

// serves reports whether an app may get a message.
func serves(a world.App, m world.Message) bool { return obstacleOf(a, m) == fits }

// shortage is why there is no app for a message.
type shortage struct {
	reason string // one sentence
	advice string // what to do about it
	known  bool   // the deployment has apps, so the configured address is not for it
	urgent bool   // it will not end by itself
}

// shownUnfit bounds the apps that a reason names.
const shownUnfit = 3

// shortageOf explains why none of the apps, which are the newest first, may have a message.
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

// needs says what an app must be to take a message, as far as others were not.
func needs(m world.Message, sdk, namespace bool) string {
	var b strings.Builder
	kind, _ := world.QueueKind(m.QueueName)
	if sdk {
		needed := m.SDK
		if needed == "" {
			needed = sdkV4 // it is for a step
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

// whatInstead says of an app that is alive why it may not have a message.
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

// shortageFor is shortageOf with the apps as they are.
func (q *Queue) shortageFor(ctx context.Context, m world.Message) (shortage, error) {
	apps, err := q.registry.cached(ctx)
	if err != nil {
		return shortage{}, err
	}
	return shortageOf(apps, m, q.nowMillis()), nil
}
