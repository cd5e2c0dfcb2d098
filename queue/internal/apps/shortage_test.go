package apps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Whatever keeps a message from every registered app, its reason says what is needed and what is registered instead.
func TestReasonsOfWaitingAreTrue(t *testing.T) {
	t.Parallel()
	const now = 1_800_000_000_000
	app := func(url, deployment, sdk, namespace string) world.App {
		return world.App{BaseURL: url, DeploymentID: deployment, SDK: sdk, Namespace: namespace, SeenAt: now - 5000, AliveUntil: now + 1}
	}
	gone := func(a world.App) world.App {
		a.SeenAt, a.AliveUntil = now-90_000, now
		return a
	}
	flow := func(deployment, sdk string) world.Message {
		return world.Message{QueueName: "__wkf_workflow_x", DeploymentID: deployment, SDK: sdk}
	}
	step := func(deployment, sdk, namespace string) world.Message {
		return world.Message{QueueName: "__wkf_step_x", DeploymentID: deployment, SDK: sdk, Namespace: namespace}
	}
	inShop := func(deployment string) world.Message {
		return world.Message{QueueName: "__shop_wkf_workflow_x", DeploymentID: deployment}
	}
	const (
		register = "start the app (its world.start() registers it), or set WORKFLOW_BASE_URL of this service"
		again    = "start it again"
		such     = "start such an app"
	)
	v4, v5, blog := app("http://v4", "d", "v4", ""), app("http://v5", "d", "v5", ""), app("http://blog", "d", "v4", "blog")
	refused := v4
	refused.Refused = "it is bad"
	for name, c := range map[string]struct {
		apps           []world.App
		m              world.Message
		reason, advice string
		known          bool
	}{
		"nothing has registered": {nil, flow("", ""), `no app has registered`, register, false},
		"nor for the deployment": {nil, flow("d", "v5"), `no app of deployment "d" has registered`, register, false},
		"others do not count":    {[]world.App{app("http://other", "e", "v5", "")}, flow("d", "v5"), `no app of deployment "d" has registered`, register, false},
		"the app has lapsed": {
			[]world.App{gone(v4)},
			flow("d", "v4"),
			`no app of deployment "d" is alive; the last one, at http://v4, was heard of 1m30s ago`, again, true,
		},
		"all have lapsed": {
			[]world.App{gone(v4), gone(v5)}, flow("", ""), `no app is alive; the last one, at http://v4, was heard of 1m30s ago`, again, false,
		},
		"rolled back from v5 to v4": {
			[]world.App{v4, gone(v5)},
			flow("d", "v5"),
			`no app of deployment "d" with SDK v5 is alive; the last one, at http://v5, was heard of 1m30s ago; there is http://v4 with SDK v4`, again, true,
		},
		"always on v4": {
			[]world.App{v4}, flow("d", "v5"), `no app of deployment "d" with SDK v5 has registered; there is http://v4 with SDK v4`, such, true,
		},
		"once on v4": {
			[]world.App{gone(v4)}, flow("d", "v5"), `no app of deployment "d" with SDK v5 has registered`, such, true,
		},
		"a step after the upgrade": {
			[]world.App{v5, gone(v4)},
			step("d", "v4", ""),
			`no app of deployment "d" with SDK v4, which has a route for steps, is alive; the last one, at http://v4, was heard of 1m30s ago; ` +
				`there is http://v5 with SDK v5`, again, true,
		},
		"a step without a deployment": {
			[]world.App{v5}, step("", "", ""), `no app with SDK v4, which has a route for steps, has registered; there is http://v5 with SDK v5`, such, false,
		},
		"another namespace": {
			[]world.App{blog},
			inShop("d"),
			`no app of deployment "d" in the queue namespace "shop" has registered; there is http://blog in the queue namespace "blog"`, such, false,
		},
		"no namespace": {
			[]world.App{blog},
			flow("d", "v4"),
			`no app of deployment "d" without a queue namespace has registered; there is http://blog in the queue namespace "blog"`, such, false,
		},
		"a namespace, and nobody has one": {
			[]world.App{v4}, inShop(""), `no app in the queue namespace "shop" has registered; there is http://v4 without a queue namespace`, such, false,
		},
		"a step of a namespace": {
			[]world.App{v5, blog},
			step("d", "v4", "shop"),
			`no app of deployment "d" with SDK v4, which has a route for steps, in the queue namespace "shop" has registered; ` +
				`there is http://v5 with SDK v5, http://blog in the queue namespace "blog"`, such, true,
		},
		"not called": {
			[]world.App{refused},
			flow("d", "v4"),
			`no app of deployment "d" has registered; there is http://v4 (it is bad)`, "register the app at another address, or change WORKFLOW_WORLD_APP_HOSTS of this service", true,
		},
		"many": {
			[]world.App{v4, v4, v4, v4, v4},
			flow("d", "v5"),
			`no app of deployment "d" with SDK v5 has registered; there is http://v4 with SDK v4, http://v4 with SDK v4, http://v4 with SDK v4 and 2 more`, such, true,
		},
	} {
		require.Equal(t, shortage{reason: c.reason, advice: c.advice, known: c.known, urgent: name == "not called"}, shortageOf(c.apps, c.m, now), name)
	}
}
