package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// network is what answers at each address.
type network struct {
	answers   map[string]embedded.Answerer // who.Workflows == "?" is an older client
	nonces    map[string]string
	strangers map[string]bool
}

func (n network) probe(hasToken bool) appProbe {
	return appProbe{
		check: func(_ context.Context, baseURL string) error {
			if _, ok := n.answers[baseURL]; !ok {
				return errors.New("nothing listens there")
			}
			return nil
		},
		who: func(_ context.Context, baseURL, nonce string) (embedded.Answerer, bool, error) {
			who, ok := n.answers[baseURL]
			if n.strangers[baseURL] {
				return who, false, embedded.ErrSignature
			}
			if !ok {
				return who, false, errors.New("nothing listens there")
			}
			who.Proved = nonce != "" && n.nonces[baseURL] == nonce
			return who, who.Workflows != "?", nil
		},
		mayCall: func(baseURL string) error {
			if strings.HasPrefix(baseURL, "http://10.6.6.6") {
				return errors.New("it is not among WORKFLOW_WORLD_APP_HOSTS")
			}
			return nil
		},
		hasToken: hasToken,
		own:      func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("10.0.0.1")} },
	}
}

// What answers at an app's address: the process itself, another one of its deployment, or another app.
func TestProbeComparesWhoAnswers(t *testing.T) {
	t.Parallel()
	n := network{
		answers: map[string]embedded.Answerer{
			"http://shop": {Deployment: "shop"}, "http://default": {Deployment: defaultDeployment, Workflows: "order\npay"},
			"http://unnamed": {Deployment: defaultDeployment}, "http://older": {Workflows: "?"}, "http://stranger": {},
		},
		nonces:    map[string]string{"http://default": "n1"},
		strangers: map[string]bool{"http://stranger": true},
	}
	for story, c := range map[string]struct {
		app    world.App
		code   world.AppWarningCode
		reason string
	}{
		"its deployment":            {world.App{BaseURL: "http://shop", DeploymentID: "shop", Nonce: "n2"}, "", ""},
		"another deployment":        {world.App{BaseURL: "http://shop", DeploymentID: "cont", Nonce: "n2"}, world.OtherApp, `its deployment is "shop", and this one is "cont"`},
		"nobody":                    {world.App{BaseURL: "http://nobody", DeploymentID: "cont", Nonce: "n2"}, world.NoAnswer, "nothing listens there"},
		"an older client registers": {world.App{BaseURL: "http://shop", DeploymentID: "cont"}, "", ""},
		"an older client answers":   {world.App{BaseURL: "http://older", DeploymentID: "cont", Nonce: "n2"}, "", ""},
		"another key":               {world.App{BaseURL: "http://stranger", DeploymentID: "cont", Nonce: "n2"}, world.SignatureRefused, "WORKFLOW_WORLD_TOKEN"},
		"the process itself":        {world.App{BaseURL: "http://default", DeploymentID: defaultDeployment, Nonce: "n1", Workflows: "new"}, "", ""},
		"the same workflows":        {world.App{BaseURL: "http://default", DeploymentID: defaultDeployment, Nonce: "n2", Workflows: "order\npay"}, "", ""},
		"other workflows":           {world.App{BaseURL: "http://default", DeploymentID: defaultDeployment, Nonce: "n2", Workflows: "ship"}, world.OtherApp, `it has other workflows, such as "order"`},
		"some of the workflows":     {world.App{BaseURL: "http://default", DeploymentID: defaultDeployment, Nonce: "n2", Workflows: "order\nship"}, world.OtherApp, "another version"},
		"unknown workflows":         {world.App{BaseURL: "http://unnamed", DeploymentID: defaultDeployment, Nonce: "n2", Workflows: "ship"}, "", ""},
		"none known of its own":     {world.App{BaseURL: "http://default", DeploymentID: defaultDeployment, Nonce: "n2"}, "", ""},
	} {
		f := n.probe(true).look(t.Context(), registration{App: c.app, from: netip.MustParseAddr("127.0.0.1")})
		require.Equal(t, c.code, f.Code, story)
		require.Contains(t, f.Reason, c.reason, story)
		require.NotZero(t, f.At)
		if c.code != "" {
			advice := adviceFor(c.app, f)
			require.Contains(t, advice, c.app.BaseURL, story)
			require.LessOrEqual(t, len(advice), world.MaxAppWarning)
		}
	}
	long := adviceFor(world.App{BaseURL: "http://a"}, appFinding{Code: world.NoAnswer, Reason: strings.Repeat("x", 900)})
	require.Len(t, long, world.MaxAppWarning)
	require.Contains(t, long, "Set WORKFLOW_BASE_URL")
}

// An app in a container registers localhost. It is reached at the address that it calls from only if callers have a
// token, and it has proved there that it is the process that registered.
func TestLocalhostOfAContainer(t *testing.T) {
	t.Parallel()
	n := network{
		answers: map[string]embedded.Answerer{
			"http://10.0.0.7:3000/base": {Deployment: "shop"}, "http://10.0.0.8:3000/base": {Deployment: "shop"}, "http://10.6.6.6:3000/base": {Deployment: "shop"},
			"http://localhost:4000": {Deployment: "shop"}, "http://[fd00::7]:3000/base": {Deployment: "shop"},
		},
		nonces: map[string]string{"http://10.0.0.7:3000/base": "n1", "http://10.6.6.6:3000/base": "n1", "http://[fd00::7]:3000/base": "n1", "http://localhost:4000": "n1"},
	}
	app := world.App{BaseURL: "http://localhost:3000/base", DeploymentID: "shop", Nonce: "n1"}
	for story, c := range map[string]struct {
		from     string
		app      world.App
		noToken  bool
		code     world.AppWarningCode
		route    string
		contains string
	}{
		"proved":                {from: "10.0.0.7", app: app, route: "http://10.0.0.7:3000/base"},
		"proved, IPv6":          {from: "fd00::7", app: app, route: "http://[fd00::7]:3000/base"},
		"127.0.0.1 is the same": {from: "10.0.0.7", app: world.App{BaseURL: "http://127.0.0.1:3000/base", DeploymentID: "shop", Nonce: "n1"}, route: "http://10.0.0.7:3000/base"},
		"another process":       {from: "10.0.0.8", app: app, code: world.LocalhostOfContainer, contains: "does not answer at http://10.0.0.8:3000/base"},
		"nobody there":          {from: "10.0.0.9", app: app, code: world.LocalhostOfContainer, contains: "nothing listens there"},
		"no token":              {from: "10.0.0.7", app: app, noToken: true, code: world.LocalhostOfContainer, contains: "WORKFLOW_WORLD_TOKEN"},
		"an older client":       {from: "10.0.0.7", app: world.App{BaseURL: app.BaseURL, DeploymentID: "shop"}, code: world.LocalhostOfContainer, contains: "http://10.0.0.7:3000/base"},
		"not allowed":           {from: "10.6.6.6", app: app, code: world.LocalhostOfContainer, contains: "WORKFLOW_WORLD_APP_HOSTS"},
		"the same machine":      {from: "10.0.0.1", app: app, code: world.NoAnswer},
		"by loopback":           {from: "127.0.0.1", app: app, code: world.NoAnswer},
		"not localhost":         {from: "10.0.0.7", app: world.App{BaseURL: "http://app:3000/base", DeploymentID: "shop", Nonce: "n1"}, code: world.NoAnswer},
		"reached at localhost":  {from: "10.0.0.7", app: world.App{BaseURL: "http://localhost:4000", DeploymentID: "shop", Nonce: "n1"}},
	} {
		f := n.probe(!c.noToken).look(t.Context(), registration{App: c.app, from: netip.MustParseAddr(c.from)})
		require.Equal(t, c.code, f.Code, story)
		require.Equal(t, c.route, f.Route, story)
		require.Contains(t, f.Reason, c.contains, story)
	}
}

// oneRedis keeps the notes and the apps of several replicas.
type oneRedis struct {
	mu    sync.Mutex
	notes map[string][]byte
	apps  []world.App
	now   world.Millis
}

func (o *oneRedis) AppNote(_ context.Context, about string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.notes[about], nil
}

func (o *oneRedis) SetAppNote(_ context.Context, about string, note []byte, _ time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notes[about] = note
	return nil
}

func (o *oneRedis) RegisterApp(ctx context.Context, a world.App) error {
	_ = o.UnregisterApp(ctx, a.BaseURL, a.DeploymentID)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	a.SeenAt, a.Alive = o.now, true
	o.apps = append(o.apps, a)
	return nil
}

func (o *oneRedis) UnregisterApp(_ context.Context, baseURL, deploymentID string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.apps = slices.DeleteFunc(o.apps, func(a world.App) bool { return a.BaseURL == baseURL && a.DeploymentID == deploymentID })
	return nil
}

func (o *oneRedis) ListApps(context.Context) ([]world.App, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.apps), nil
}

// checker is one replica's check of apps. It runs until the test ends.
func (o *oneRedis) checker(t *testing.T, probe func(context.Context, registration) appFinding) (*appCheck, *worldtest.Log) {
	t.Helper()
	log := &worldtest.Log{}
	c := newAppCheck(o, probe, o, slog.New(slog.NewTextHandler(log, nil)))
	c.pauses = []time.Duration{0, 0, 0, 0}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return c, log
}

// A renewal is answered with what was found out, at any replica, until it is over.
func TestWarningsComeWithTheNextRenewalAtAnyReplica(t *testing.T) {
	t.Parallel()
	o := &oneRedis{notes: map[string][]byte{}}
	var mu sync.Mutex
	found, tries := appFinding{Code: world.OtherApp, Reason: "its deployment is another"}, 0
	probe := func(context.Context, registration) appFinding {
		mu.Lock()
		defer mu.Unlock()
		tries++
		f := found
		f.At = world.MillisOf(time.Now().Add(-badFor)) // so that each renewal has it checked again
		return f
	}
	one, log := o.checker(t, probe)
	two, _ := o.checker(t, func(context.Context, registration) appFinding {
		return appFinding{Code: world.NoAnswer, At: 1} // an older result than the first replica's
	})
	app := world.App{BaseURL: "http://app/", DeploymentID: "cont", Nonce: "n1", Lease: time.Minute}
	renew := func(c *appCheck) []world.AppWarning {
		require.NoError(t, c.RegisterApp(t.Context(), app))
		return c.Warnings(t.Context(), app)
	}
	require.Empty(t, renew(one), "nothing is known yet")
	require.Eventually(t, func() bool { return len(renew(one)) == 1 }, time.Minute, time.Millisecond)
	warnings := renew(two)
	require.Len(t, warnings, 1)
	require.Equal(t, world.OtherApp, warnings[0].Code)
	require.Contains(t, warnings[0].Message, "its deployment is another")
	require.Equal(t, 1, log.Count("level=WARN"), "once, however often it is found")
	mu.Lock()
	found = appFinding{}
	mu.Unlock()
	require.Eventually(t, func() bool { return len(renew(one)) == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, log.Count("a workflow app answers at this address"))
	require.Equal(t, 1, log.Count("level=WARN"))
}

// An app in a container that has proved its address gets its deliveries there, by each of its registrations, at every
// replica, until it unregisters.
func TestAContainersRegistrationMovesToItsAddress(t *testing.T) {
	t.Parallel()
	o := &oneRedis{notes: map[string][]byte{}}
	n := network{
		answers: map[string]embedded.Answerer{"http://10.0.0.7:3000": {Deployment: "shop"}},
		nonces:  map[string]string{"http://10.0.0.7:3000": "n1"},
	}
	one, log := o.checker(t, n.probe(true).look)
	two, _ := o.checker(t, n.probe(true).look)
	from := world.WithCaller(t.Context(), netip.MustParseAddr("::ffff:10.0.0.7"))
	app := world.App{BaseURL: "http://localhost:3000", DeploymentID: "shop", Nonce: "n1", Lease: time.Minute}
	addresses := func() (all []string) {
		apps, err := o.ListApps(t.Context())
		require.NoError(t, err)
		for _, a := range apps {
			all = append(all, a.BaseURL)
		}
		return all
	}
	require.NoError(t, one.RegisterApp(from, app))
	require.Equal(t, []string{"http://localhost:3000"}, addresses())
	one.Warnings(from, app)
	require.Eventually(t, func() bool { return slices.Equal(addresses(), []string{"http://10.0.0.7:3000"}) }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return log.Count("where it has proved its identity") == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, one.Warnings(from, app))
	withMessage := app
	withMessage.Nonce = ""
	require.NoError(t, two.RegisterApp(from, withMessage))
	require.Equal(t, []string{"http://10.0.0.7:3000"}, addresses())
	elsewhere := world.WithCaller(t.Context(), netip.MustParseAddr("10.0.0.9"))
	require.NoError(t, two.RegisterApp(elsewhere, withMessage))
	require.ElementsMatch(t, []string{"http://10.0.0.7:3000", "http://localhost:3000"}, addresses(), "another caller proved nothing")
	require.NoError(t, two.UnregisterApp(elsewhere, app.BaseURL, "shop"))
	require.NoError(t, two.UnregisterApp(from, app.BaseURL, "shop"))
	require.Empty(t, addresses())
	require.Zero(t, log.Count("level=WARN"))
}

// Two deployments with one address are a warning once both are known to live: one that was replaced does not count.
func TestTwoLiveDeploymentsAtOneAddress(t *testing.T) {
	t.Parallel()
	o := &oneRedis{notes: map[string][]byte{}}
	c, log := o.checker(t, func(context.Context, registration) appFinding { return appFinding{At: world.MillisOf(time.Now())} })
	renew := func(deployment string) []world.AppWarning {
		a := world.App{BaseURL: "http://one", DeploymentID: deployment, Lease: time.Minute}
		require.NoError(t, c.RegisterApp(t.Context(), a))
		return c.Warnings(t.Context(), a)
	}
	require.Empty(t, renew("old"))
	for range 3 {
		require.Empty(t, renew("new"), "the old one has only its lease left")
	}
	require.Len(t, renew("old"), 1)
	warnings := renew("new")
	require.Len(t, warnings, 1)
	require.Equal(t, world.SharedAddress, warnings[0].Code)
	require.Contains(t, warnings[0].Message, `"new" and "old"`)
	require.Len(t, renew("old"), 1)
	require.Equal(t, 1, log.Count("level=WARN"), "once a pair")
	require.NoError(t, c.UnregisterApp(t.Context(), "http://one", "old"))
	require.Empty(t, renew("new"))
	require.Empty(t, renew("old"), "it is noticed anew")
	require.Len(t, renew("new"), 1)
	require.Equal(t, 2, log.Count("level=WARN"))
}

func TestQueueLsNamesSharedAddressesOnce(t *testing.T) {
	t.Parallel()
	var apps appList
	require.NoError(t, json.Unmarshal([]byte(`{"data":[{"baseUrl":"http://one","deploymentId":"new","sharedWith":"old"},
		{"baseUrl":"http://one","deploymentId":"old","sharedWith":"new"},{"baseUrl":"http://two","deploymentId":"new"}]}`), &apps))
	var out strings.Builder
	writeShared(&out, apps)
	require.Equal(t, "WARNING: http://one is the address of two live deployments, \"new\" and \"old\"\n\n", out.String())
}
