package apps

import "github.com/world-redis/world-redis"

// obstacle is why an app may not have a message of its deployment.
type obstacle int

const (
	fits      obstacle = iota
	notCalled          // the service does not connect to it
	otherSDK
	noStepRoute // apps of SDK v5 have none: flow deliveries run the steps there
	otherNamespace
)

// obstacleOf returns why an app may not have a message: they must have the same namespace, and the app an SDK
// that can continue the run. A deployment that was upgraded from v4 to v5 continues its runs, but
// cannot take the messages of their steps.
func obstacleOf(a world.App, m world.Message) obstacle {
	if a.Refused != "" {
		return notCalled
	}
	kind, _ := world.QueueKind(m.QueueName)
	if kind == world.KindStep && a.SDK == SDKv5 {
		return noStepRoute
	}
	if m.SDK != "" && a.SDK != "" && m.SDK != a.SDK {
		upgraded := m.SDK == SDKv4 && m.DeploymentID == a.DeploymentID
		if !upgraded {
			return otherSDK
		}
	}
	if namespace, known := namespaceFor(m, kind); known && a.Namespace != namespace {
		return otherNamespace
	}
	return fits
}

// namespaceFor returns the queue namespace of the apps that may have a message. If known is false, it may
// be any.
func namespaceFor(m world.Message, kind world.Kind) (namespace string, known bool) {
	namespace, inName := world.QueueNamespace(m.QueueName)
	if !inName && kind == world.KindStep {
		// v4 omits it in the names of steps (contract §4.1). The sender may have named it.
		return m.Namespace, m.Namespace != ""
	}
	return namespace, true
}

// serves reports whether an app may get a message.
func serves(a world.App, m world.Message) bool { return obstacleOf(a, m) == fits }
