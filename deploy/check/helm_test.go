package check

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

const chart = "../helm/world-redis"

// The values files are the cases of all tests: ci/<name>-values.yaml.
var cases = []string{"default", "production", "cluster", "monitoring"}

func values(name string) string { return filepath.Join(chart, "ci", name+"-values.yaml") }

func TestEveryValuesFileIsACase(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(values("*"))
	require.NoError(t, err)
	require.Len(t, files, len(cases))
}

func TestChartLints(t *testing.T) {
	t.Parallel()
	for _, name := range cases {
		out, err := helm(t, "lint", "--strict", "--values", values(name), chart)
		require.NoError(t, err, "%s: %s", name, out)
	}
}

// manifests is what the chart renders for a case, each read by Kubernetes' own types, which refuse unknown fields.
type manifests struct {
	deployment apps.Deployment
	services   []core.Service
	secret     *core.Secret
	account    *core.ServiceAccount
	budget     policy.PodDisruptionBudget
	network    *networking.NetworkPolicy
	monitor    *monitoring.ServiceMonitor
	test       core.Pod
}

func (m manifests) pod() core.PodSpec         { return m.deployment.Spec.Template.Spec }
func (m manifests) container() core.Container { return m.pod().Containers[0] }

func (m manifests) env(name string) *core.EnvVar {
	var found *core.EnvVar
	for _, v := range m.container().Env {
		if v.Name == name {
			found = &v
		}
	}
	return found
}

func render(t *testing.T, name string, args ...string) manifests {
	t.Helper()
	out, err := helm(t, append([]string{"template", "shop", chart, "--namespace", "shop", "--kube-version", "1.34.0", "--values", values(name)}, args...)...)
	require.NoError(t, err, out)
	var m manifests
	for doc := range strings.SplitSeq("\n"+out, "\n---\n") {
		var head struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &head))
		var into any
		switch head.Kind {
		case "":
			continue
		case "Deployment":
			into = &m.deployment
		case "Service":
			m.services = append(m.services, core.Service{})
			into = &m.services[len(m.services)-1]
		case "Secret":
			m.secret = &core.Secret{}
			into = m.secret
		case "ServiceAccount":
			m.account = &core.ServiceAccount{}
			into = m.account
		case "PodDisruptionBudget":
			into = &m.budget
		case "NetworkPolicy":
			m.network = &networking.NetworkPolicy{}
			into = m.network
		case "ServiceMonitor":
			m.monitor = &monitoring.ServiceMonitor{}
			into = m.monitor
		case "Pod":
			into = &m.test
		default:
			require.Fail(t, "no type for the kind "+head.Kind)
		}
		require.NoError(t, yaml.UnmarshalStrict([]byte(doc), into), doc)
		assert.Equal(t, "shop", head.Metadata.Namespace, head.Kind)
	}
	return m
}

// What holds in every case.
func TestEveryDeploymentIsFitForProduction(t *testing.T) {
	t.Parallel()
	known := knownSettings(t)
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := render(t, name)
			pod, c := m.pod(), m.container()

			labels := m.deployment.Spec.Template.Labels
			for what, selector := range map[string]map[string]string{
				"deployment": m.deployment.Spec.Selector.MatchLabels,
				"service":    m.services[0].Spec.Selector,
				"budget":     m.budget.Spec.Selector.MatchLabels,
			} {
				assert.Subset(t, labels, selector, what)
				assert.Len(t, selector, 2, what)
			}
			assert.NotSubset(t, m.test.Labels, m.services[0].Spec.Selector, "the test's pod is not one of the service")

			assert.True(t, *pod.SecurityContext.RunAsNonRoot)
			assert.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
			for _, one := range []core.Container{c, m.test.Spec.Containers[0]} {
				assert.True(t, *one.SecurityContext.ReadOnlyRootFilesystem)
				assert.False(t, *one.SecurityContext.AllowPrivilegeEscalation)
				assert.Equal(t, []core.Capability{"ALL"}, one.SecurityContext.Capabilities.Drop)
				assert.Empty(t, one.SecurityContext.Capabilities.Add)
			}
			assert.False(t, *pod.AutomountServiceAccountToken)

			assert.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path)
			assert.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
			for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
				assert.Equal(t, "http", probe.HTTPGet.Port.StrVal)
				assert.Greater(t, probe.TimeoutSeconds, int32(2), "readyz answers within two seconds")
			}

			grace := seconds(t, m.env("WORKFLOW_WORLD_SHUTDOWN_GRACE").Value)
			assert.GreaterOrEqual(t, *pod.TerminationGracePeriodSeconds, grace+c.Lifecycle.PreStop.Sleep.Seconds+10, "the API drains for ten more seconds")

			limit := c.Resources.Limits.Memory().Value()
			goLimit, err := resource.ParseQuantity(strings.TrimSuffix(m.env("GOMEMLIMIT").Value, "B"))
			require.NoError(t, err)
			assert.InDelta(t, 0.9, float64(goLimit.Value())/float64(limit), 0.01)

			assert.Equal(t, int32(1), m.budget.Spec.MaxUnavailable.IntVal)
			assert.Equal(t, 0, m.deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue())
			assert.NotEmpty(t, pod.TopologySpreadConstraints)

			seen := map[string]bool{}
			for _, v := range c.Env {
				assert.False(t, seen[v.Name], "%s twice", v.Name)
				seen[v.Name] = true
				if strings.HasPrefix(v.Name, "WORKFLOW_") {
					assert.Contains(t, known, v.Name)
				}
			}
			// No secret is in the Deployment: everyone who may read pods could read it.
			text, err := yaml.Marshal(m.deployment)
			require.NoError(t, err)
			assert.NotRegexp(t, `not-a-secret|password|long-enough|of-some-length`, string(text))
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	m := render(t, "default")
	c := m.container()
	assert.Equal(t, "shop-world-redis", m.deployment.Name)
	assert.Equal(t, int32(2), *m.deployment.Spec.Replicas)
	assert.Equal(t, "ghcr.io/world-redis/world-redis:"+chartVersion(t), c.Image)
	assert.Equal(t, ":8787", m.env("WORKFLOW_WORLD_LISTEN").Value)
	assert.Equal(t, int64(55), *m.pod().TerminationGracePeriodSeconds)
	assert.Equal(t, int64(5), c.Lifecycle.PreStop.Sleep.Seconds)
	assert.Equal(t, "460MiB", m.env("GOMEMLIMIT").Value)
	assert.Equal(t, map[string]string{"redis-url": "redis://redis.data:6379", "token": "not-a-secret-but-long-enough"}, m.secret.StringData)
	for name, key := range map[string]string{"WORKFLOW_REDIS_URL": "redis-url", "WORKFLOW_WORLD_TOKEN": "token"} {
		ref := m.env(name).ValueFrom.SecretKeyRef
		assert.Equal(t, []string{m.secret.Name, key}, []string{ref.Name, ref.Key})
		assert.Nil(t, ref.Optional)
	}
	assert.Equal(t, m.account.Name, m.pod().ServiceAccountName)
	assert.Len(t, m.services, 1)
	assert.Equal(t, int32(8787), m.services[0].Spec.Ports[0].Port)
	assert.Nil(t, m.network)
	assert.Nil(t, m.monitor)
	assert.Nil(t, m.env("WORKFLOW_WORLD_METRICS_LISTEN"))
	assert.Equal(t, []string{"health", "--url", "http://shop-world-redis:8787"}, m.test.Spec.Containers[0].Args)
}

func TestAChangedSecretRestartsThePods(t *testing.T) {
	t.Parallel()
	sum := func(args ...string) string {
		return render(t, "default", args...).deployment.Spec.Template.Annotations["checksum/secret"]
	}
	assert.NotEmpty(t, sum())
	assert.Equal(t, sum(), sum())
	assert.NotEqual(t, sum(), sum("--set", "secret.token=another-token-of-some-length"))
}

func TestProduction(t *testing.T) {
	t.Parallel()
	m := render(t, "production")
	assert.Nil(t, m.secret)
	assert.Equal(t, "shop-world", m.env("WORKFLOW_REDIS_URL").ValueFrom.SecretKeyRef.Name)
	assert.Equal(t, "ghcr.io/world-redis/world-redis@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", m.container().Image)
	assert.Equal(t, int64(145), *m.pod().TerminationGracePeriodSeconds)
	assert.Equal(t, "1382MiB", m.env("GOMEMLIMIT").Value)
	assert.Equal(t, "67108864", m.env("WORKFLOW_WORLD_MAX_BODY").Value, "and not 6.7108864e+07")
	assert.Equal(t, "replicas:2", m.env("WORKFLOW_WORLD_DURABILITY").Value)
	assert.Equal(t, "shop", m.account.Annotations["example.com/owner"])
	require.NotNil(t, m.network)
	assert.Equal(t, []networking.PolicyType{"Ingress", "Egress"}, m.network.Spec.PolicyTypes)
	require.Len(t, m.network.Spec.Ingress, 1)
	assert.Equal(t, "http", m.network.Spec.Ingress[0].Ports[0].Port.StrVal)
	assert.Len(t, m.network.Spec.Ingress[0].From, 1)
	assert.Len(t, m.network.Spec.Egress, 3)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	m := render(t, "cluster")
	assert.Equal(t, "rediss+cluster://world:password@redis-0.data:6379,redis-1.data:6379?tls_ca=/etc/redis-ca/ca.crt", m.secret.StringData["redis-url"])
	assert.Contains(t, m.secret.StringData, "signing-key")
	assert.Contains(t, m.secret.StringData, "namespaces")
	for name, key := range map[string]string{"WORKFLOW_WORLD_SIGNING_KEY": "signing-key", "WORKFLOW_WORLD_NAMESPACES": "namespaces"} {
		ref := m.env(name).ValueFrom.SecretKeyRef
		assert.Equal(t, key, ref.Key)
		assert.True(t, *ref.Optional)
	}
	assert.Equal(t, "redis-ca", m.pod().Volumes[0].Name)
	assert.Equal(t, "/etc/redis-ca", m.container().VolumeMounts[0].MountPath)
	assert.Equal(t, "metadata.name", m.env("POD_NAME").ValueFrom.FieldRef.FieldPath)
	require.Len(t, m.pod().TopologySpreadConstraints, 1)
	assert.Equal(t, core.DoNotSchedule, m.pod().TopologySpreadConstraints[0].WhenUnsatisfiable)
}

func TestMonitoring(t *testing.T) {
	t.Parallel()
	m := render(t, "monitoring")
	assert.Equal(t, ":9787", m.env("WORKFLOW_WORLD_METRICS_LISTEN").Value)
	assert.Equal(t, "metrics-token", m.env("WORKFLOW_WORLD_METRICS_TOKEN").ValueFrom.SecretKeyRef.Key)
	require.Len(t, m.services, 2)
	assert.Equal(t, core.ServiceTypeLoadBalancer, m.services[0].Spec.Type)
	require.Len(t, m.services[0].Spec.Ports, 1, "what is exposed has no metrics")
	assert.Equal(t, core.ClusterIPNone, m.services[1].Spec.ClusterIP)
	require.NotNil(t, m.monitor)
	assert.Equal(t, "prometheus", m.monitor.Labels["release"])
	assert.Subset(t, m.services[1].Labels, m.monitor.Spec.Selector.MatchLabels)
	assert.NotSubset(t, m.services[0].Labels, m.monitor.Spec.Selector.MatchLabels, "it reads each pod once")
	endpoint := m.monitor.Spec.Endpoints[0]
	assert.Equal(t, m.services[1].Spec.Ports[0].Name, endpoint.Port)
	assert.Equal(t, monitoring.Duration("15s"), endpoint.Interval)
	assert.Equal(t, m.secret.Name, endpoint.Authorization.Credentials.Name)
	assert.Contains(t, m.secret.StringData, endpoint.Authorization.Credentials.Key)
	require.NotNil(t, m.network)
	require.Len(t, m.network.Spec.Ingress, 2)
	assert.Empty(t, m.network.Spec.Ingress[0].From, "any caller")
	assert.Len(t, m.network.Spec.Ingress[1].From, 1)
}

// The action sleep of preStop came with Kubernetes 1.30; an older one refuses a pod that has it.
func TestOlderKubernetesGetsNoSleep(t *testing.T) {
	t.Parallel()
	m := render(t, "default", "--kube-version", "1.29.3")
	assert.Nil(t, m.container().Lifecycle)
	assert.Equal(t, int64(50), *m.pod().TerminationGracePeriodSeconds)
}

func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing is set":             {nil, "set secret.existingSecret to a Secret with the keys redis-url and token"},
		"no token":                   {[]string{"--set", "secret.redisUrl=redis://r"}, "set secret.existingSecret"},
		"a short token":              {[]string{"--set", "secret.redisUrl=redis://r", "--set", "secret.token=short"}, "/secret/token"},
		"an address of another kind": {[]string{"--set", "secret.redisUrl=http://r"}, "/secret/redisUrl"},
		"a misspelt value":           {[]string{"--values", values("default"), "--set", "replicas=3"}, "replicas"},
		"a misspelt setting":         {[]string{"--values", values("default"), "--set", "settings.workflow_world_log_level=debug"}, "workflow_world_log_level"},
		"a monitor without metrics":  {[]string{"--values", values("default"), "--set", "metrics.serviceMonitor.enabled=true"}, "metrics.serviceMonitor.enabled needs metrics.enabled"},
		"a token that is not there":  {[]string{"--values", values("default"), "--set", "metrics.requireToken=true"}, "set secret.metricsToken"},
	} {
		out, err := helm(t, append([]string{"template", "shop", chart, "--kube-version", "1.34.0"}, c.args...)...)
		require.Error(t, err, name)
		assert.Contains(t, out, c.says, name)
	}
}

// README.md of the chart has a line for each value, and no others.
func TestREADMEListsTheValues(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal(text, &tree))
	var want []string
	for name := range tree {
		want = append(want, name)
	}
	readme, err := os.ReadFile(filepath.Join(chart, "README.md"))
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(string(readme), -1) {
		for _, name := range regexp.MustCompile("`([\\w.]+)`").FindAllStringSubmatch(row[1], -1) {
			top, _, _ := strings.Cut(name[1], ".")
			listed[top] = true
			at := any(tree)
			for part := range strings.SplitSeq(name[1], ".") {
				branch, ok := at.(map[string]any)
				require.True(t, ok, name[1])
				require.Contains(t, branch, part, name[1])
				at = branch[part]
			}
		}
	}
	for _, name := range want {
		assert.True(t, listed[name], "README.md lacks %s", name)
	}
}

// helm runs the helm of scripts/deploy-tool.sh, which HELM names, and returns what it prints on both streams.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary := os.Getenv("HELM")
	require.NotEmpty(t, binary, "HELM names no helm: run make lint-deploy")
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
