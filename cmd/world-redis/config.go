package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
	"github.com/world-redis/world-redis/internal/replicated"
	"github.com/world-redis/world-redis/queue"
)

// durability is the number of replicas that confirm an acknowledged write.
type durability = replicated.Durability

// config holds every setting of the service. `world-redis env` prints the help texts. A setting that is not here does
// not exist.
type config struct {
	RedisURL           string        `env:"WORKFLOW_REDIS_URL" help:"address of Redis: redis://, rediss://, unix://, redis+sentinel://…?master=NAME, redis+cluster://…; default: REDIS_URL, otherwise an embedded Redis that loses its data on exit"`
	RedisURLFallback   string        `env:"REDIS_URL" help:"used when WORKFLOW_REDIS_URL is not set"`
	RedisChecks        string        `env:"WORKFLOW_WORLD_REDIS_CHECKS" envDefault:"refuse" help:"refuse: with WORKFLOW_WORLD_ENV=production the service does not start on an unsuitable Redis (version, eviction, rights, a replica); warn: it logs a warning for each problem, as it does without production"`
	Durability         durability    `env:"WORKFLOW_WORLD_DURABILITY" envDefault:"local" help:"when a write is acknowledged: local: once Redis has it; replicas, replicas:2 and so on: once that many replicas also have it; with fewer the call answers 503 and the client retries it"`
	KeyPrefix          string        `env:"WORKFLOW_REDIS_KEY_PREFIX" envDefault:"workflow:" help:"prefix of every key of this service"`
	JobPrefix          string        `env:"WORKFLOW_REDIS_JOB_PREFIX" envDefault:"workflow_" help:"prefix of the names of the two queues, flows and steps"`
	WorkerConcurrency  int           `env:"WORKFLOW_REDIS_WORKER_CONCURRENCY" envDefault:"100" help:"deliveries in flight, per queue; long-running flows of SDK v5 give up their slots while none of them finishes"`
	FlowConcurrency    int           `env:"WORKFLOW_REDIS_FLOW_CONCURRENCY" envDefault:"0" help:"the same limit for flows; 0: as WORKFLOW_REDIS_WORKER_CONCURRENCY"`
	StepConcurrency    int           `env:"WORKFLOW_REDIS_STEP_CONCURRENCY" envDefault:"0" help:"the same limit for steps; 0: as WORKFLOW_REDIS_WORKER_CONCURRENCY"`
	Listen             string        `env:"WORKFLOW_WORLD_LISTEN" envDefault:"127.0.0.1:8787" help:"address of the HTTP API; any address other than loopback requires WORKFLOW_WORLD_TOKEN"`
	Token              string        `env:"WORKFLOW_WORLD_TOKEN" help:"bearer token that callers must send, of at least 16 characters unless the service listens on loopback; separate several, for rotation, with commas"`
	Namespaces         string        `env:"WORKFLOW_WORLD_NAMESPACES" help:"namespaces, which are isolated tenants with their own tokens: name=token|token,name=token; WORKFLOW_WORLD_TOKEN belongs to the default namespace"`
	MetricsToken       string        `env:"WORKFLOW_WORLD_METRICS_TOKEN" help:"bearer token for /metrics only, of at least 16 characters unless that is on loopback; separate several with commas; without it, and without WORKFLOW_WORLD_METRICS_LISTEN, metrics are served only to this machine, on loopback"`
	MetricsListen      string        `env:"WORKFLOW_WORLD_METRICS_LISTEN" help:"separate address for /metrics, which the API then no longer serves; WORKFLOW_WORLD_METRICS_TOKEN applies there, too; without a token every client that reaches the address can read them"`
	SigningKey         string        `env:"WORKFLOW_WORLD_SIGNING_KEY" help:"signs deliveries to apps, which need the same key; separate several, for rotation, with commas; default, and in other namespaces: derived from each token"`
	BaseURL            string        `env:"WORKFLOW_BASE_URL" help:"address of the app to deliver to while no app has registered"`
	AppCA              string        `env:"WORKFLOW_WORLD_APP_CA" help:"PEM file with extra CAs trusted for apps' HTTPS"`
	AppHosts           string        `env:"WORKFLOW_WORLD_APP_HOSTS" help:"hosts where apps may run: names, *.names, addresses and networks, separated by commas; default: any except metadata addresses, link-local addresses, this service and its Redis; a link-local address must be listed itself; * allows all others"`
	Proxy              string        `env:"WORKFLOW_WORLD_PROXY" help:"HTTP proxy for all requests to apps, and for the commands queue and stream: http(s)://[user:password@]host[:port]; env: use HTTP_PROXY, HTTPS_PROXY and NO_PROXY; default: none; never used for loopback"`
	Environment        string        `env:"WORKFLOW_WORLD_ENV" help:"production: refuse to run on embedded Redis"`
	MaxBody            int64         `env:"WORKFLOW_WORLD_MAX_BODY" envDefault:"67108864" help:"largest request body, in bytes"`
	Memory             int64         `env:"WORKFLOW_WORLD_MEMORY" envDefault:"0" help:"bytes that request bodies and answers may use together; with several namespaces, each may use half; when exceeded, calls wait and then get 429; 0: a quarter of GOMEMLIMIT, otherwise 128 MiB"`
	MaxConnections     int           `env:"WORKFLOW_WORLD_MAX_CONNECTIONS" envDefault:"0" help:"connections from callers; 0: three quarters of the open-file limit, at most 10,000"`
	AppConcurrency     int           `env:"WORKFLOW_WORLD_APP_CONCURRENCY" envDefault:"0" help:"deliveries in flight to one app, per queue; 0: all slots, or four fifths of them while several apps are registered"`
	DeploymentPolicy   queue.Policy  `env:"WORKFLOW_WORLD_DEPLOYMENT_POLICY" envDefault:"hold" help:"while no app of a message's deployment is alive: hold the message, send it to the latest app of another deployment, or fail its run"`
	DeploymentPatience time.Duration `env:"WORKFLOW_WORLD_DEPLOYMENT_PATIENCE" envDefault:"1m" help:"how long no app must be alive before the policies latest and fail apply"`
	MaxCrashes         int           `env:"WORKFLOW_WORLD_MAX_CRASHES" envDefault:"15" help:"how many times the app's process may crash during deliveries of one workflow before its run is failed"`
	ShutdownGrace      time.Duration `env:"WORKFLOW_WORLD_SHUTDOWN_GRACE" envDefault:"30s" help:"how long running deliveries may continue after SIGTERM"`
	HookRetention      time.Duration `env:"WORKFLOW_WORLD_HOOK_RETENTION" envDefault:"720h" help:"longest time that a hook may keep its token after the end of its run"`
	RemovedFor         time.Duration `env:"WORKFLOW_WORLD_REMOVED_FOR" envDefault:"720h" help:"age of a run id up to which the service knows that its run has been removed; with an older id no run can be created; 24h to 8760h"`
	Retention          string        `env:"WORKFLOW_WORLD_RETENTION" help:"how long runs are kept after their end, such as completed=7d,failed=30d,cancelled=7d,report-*:completed=1h (docs/retention.md); default: for ever"`
	Archive            string        `env:"WORKFLOW_WORLD_ARCHIVE" help:"where runs go that leave Redis: postgres://…, file:///folder or s3://bucket/prefix?endpoint=…&region=… (docs/archive.md); default: nowhere"`
	ArchiveAfter       time.Duration `env:"WORKFLOW_WORLD_ARCHIVE_AFTER" envDefault:"15m" help:"with an archive: how long after its end a run leaves Redis, if its retention does not say earlier"`
	ArchiveStreams     string        `env:"WORKFLOW_WORLD_ARCHIVE_STREAMS" envDefault:"on" help:"off: streams are not archived"`
	ArchiveOwn         bool          `env:"WORKFLOW_WORLD_ARCHIVE_OWN_RETENTION" envDefault:"false" help:"true: runs with a $retention of their own are archived, too, before they are removed"`
	Pressure           memoryShare   `env:"WORKFLOW_WORLD_PRESSURE" help:"such as 80%: while Redis uses more of its maxmemory than this, runs that ended some time ago are removed before their retention is over, those that are due next first (docs/retention.md); default: off"`
	StreamQuiet        time.Duration `env:"WORKFLOW_WORLD_STREAM_QUIET" envDefault:"1m" help:"how long after its run's end, and after the last write, a stream that was never closed counts as ended"`
	RecoveryAfter      time.Duration `env:"WORKFLOW_WORLD_RECOVERY_AFTER" envDefault:"1m" help:"how long a run must have been inactive, without a message or an open hook, before it is woken"`
	FastPaths          string        `env:"WORKFLOW_WORLD_FAST_PATHS" envDefault:"all" help:"service and client: fast paths that are enabled: all, none, or a comma-separated list of pipeline, preload, anticipate, bundles, socket, fan-in, request-body, quiet (docs/fast-paths.md)"`
	LogLevel           slog.Level    `env:"WORKFLOW_WORLD_LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	LogFormat          string        `env:"WORKFLOW_WORLD_LOG_FORMAT" envDefault:"text" help:"text or json"`
}

// clientVariables belong to the client. They have the service's prefix, so the service must know them in order not to
// report them as unknown.
var clientVariables = []setting{
	{Name: "WORKFLOW_WORLD_URL", Default: "http://127.0.0.1:8787", Help: "client: address of the service"},
	{Name: "WORKFLOW_WORLD_SOCKET", Default: "on", Help: "client: off: calls use HTTP requests only, without a WebSocket"},
	{Name: "WORKFLOW_WORLD_APP_LEASE_SECONDS", Default: "90", Help: "client: how long an app counts as alive after its last registration; 0: 30 days, for platforms that freeze processes"},
	{Name: "WORKFLOW_WORLD_STREAM_RETRY_SECONDS", Default: "60", Help: "client: how long a stream write or close is retried; 0 to 540"},
	{Name: "WORKFLOW_WORLD_SPEC_VERSION", Help: "client: spec version to declare, for an SDK beta that the client does not recognise"},
}

// loadConfig reads and checks the settings. It also returns unknown WORKFLOW_WORLD_* and WORKFLOW_REDIS_* variables,
// so that a misspelt setting is reported.
func loadConfig(environ []string) (config, []string, error) {
	vars := env.ToMap(environ)
	var c config
	if err := env.ParseWithOptions(&c, env.Options{Environment: vars}); err != nil {
		var all env.AggregateError
		if errors.As(err, &all) && len(all.Errors) > 0 {
			err = all.Errors[0]
		}
		return c, nil, fmt.Errorf("a setting cannot be read: %w (see `world-redis env`)", err)
	}
	if c.RedisURL == "" {
		c.RedisURL = c.RedisURLFallback
	}
	if c.FlowConcurrency == 0 {
		c.FlowConcurrency = c.WorkerConcurrency
	}
	if c.StepConcurrency == 0 {
		c.StepConcurrency = c.WorkerConcurrency
	}
	return c, unknownVariables(vars), c.validate()
}

func (c config) validate() error {
	switch {
	case c.KeyPrefix == "" || strings.ContainsAny(c.KeyPrefix, "{}"):
		return errors.New("WORKFLOW_REDIS_KEY_PREFIX must not be empty or contain braces, which mark hash tags")
	case c.JobPrefix == "" || strings.ContainsAny(c.JobPrefix, "{}:"):
		return errors.New("WORKFLOW_REDIS_JOB_PREFIX must not be empty or contain braces or colons")
	case c.FlowConcurrency < 1 || c.StepConcurrency < 1:
		return errors.New("WORKFLOW_REDIS_WORKER_CONCURRENCY and its FLOW and STEP forms must be at least 1")
	case c.MaxBody < 1024:
		return errors.New("WORKFLOW_WORLD_MAX_BODY must be at least 1024 bytes")
	case c.Memory != 0 && c.Memory < 8<<20:
		return errors.New("WORKFLOW_WORLD_MEMORY must be at least 8388608 bytes, or 0 for the default")
	case c.MaxConnections < 0:
		return errors.New("WORKFLOW_WORLD_MAX_CONNECTIONS must not be negative")
	case c.AppConcurrency < 0:
		return errors.New("WORKFLOW_WORLD_APP_CONCURRENCY must not be negative")
	case c.MaxCrashes < 1:
		return errors.New("WORKFLOW_WORLD_MAX_CRASHES must be at least 1")
	case !c.DeploymentPolicy.Valid():
		return fmt.Errorf("WORKFLOW_WORLD_DEPLOYMENT_POLICY is %q: use hold, latest or fail", c.DeploymentPolicy)
	case c.DeploymentPatience <= 0:
		return errors.New("WORKFLOW_WORLD_DEPLOYMENT_PATIENCE must be positive")
	case c.ShutdownGrace < 0:
		return errors.New("WORKFLOW_WORLD_SHUTDOWN_GRACE must not be negative")
	case c.HookRetention < time.Millisecond:
		return errors.New("WORKFLOW_WORLD_HOOK_RETENTION must be at least 1ms")
	case c.RemovedFor < 24*time.Hour || c.RemovedFor > 8760*time.Hour:
		return errors.New("WORKFLOW_WORLD_REMOVED_FOR must be at least 24h and at most 8760h")
	case c.RecoveryAfter <= 0:
		return errors.New("WORKFLOW_WORLD_RECOVERY_AFTER must be more than 0")
	case c.StreamQuiet <= 0:
		return errors.New("WORKFLOW_WORLD_STREAM_QUIET must be positive")
	case c.LogFormat != "text" && c.LogFormat != "json":
		return fmt.Errorf("WORKFLOW_WORLD_LOG_FORMAT is %q: use text or json", c.LogFormat)
	case c.ArchiveAfter <= 0:
		return errors.New("WORKFLOW_WORLD_ARCHIVE_AFTER must be positive")
	case c.ArchiveStreams != "on" && c.ArchiveStreams != "off":
		return fmt.Errorf("WORKFLOW_WORLD_ARCHIVE_STREAMS is %q: use on or off", c.ArchiveStreams)
	case c.RedisChecks != "refuse" && c.RedisChecks != "warn":
		return fmt.Errorf("WORKFLOW_WORLD_REDIS_CHECKS is %q: use refuse or warn", c.RedisChecks)
	case c.RedisURL == "" && c.Durability > 0:
		return errors.New("WORKFLOW_WORLD_DURABILITY asks for replicas, and the embedded Redis has none: set WORKFLOW_REDIS_URL, or WORKFLOW_WORLD_DURABILITY=local")
	case c.RedisURL == "" && c.Environment == "production":
		return errors.New("WORKFLOW_WORLD_ENV is production but no Redis is configured: set WORKFLOW_REDIS_URL")
	}
	if _, err := parseFastPaths(c.FastPaths); err != nil {
		return err
	}
	if _, err := httpproxy.Parse(c.Proxy); err != nil {
		return err
	}
	if _, err := c.retention(); err != nil {
		return err
	}
	if c.Pressure > 0 && c.Retention == "" {
		return errors.New("WORKFLOW_WORLD_PRESSURE removes runs before their retention is over, and they have none: set WORKFLOW_WORLD_RETENTION, too")
	}
	if _, err := c.appCAs(); err != nil {
		return err
	}
	if err := c.validateKeys(); err != nil {
		return err
	}
	if _, err := c.namespaces(); err != nil {
		return err
	}
	if c.BaseURL != "" {
		u, err := url.Parse(c.BaseURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("WORKFLOW_BASE_URL is %q: use http(s)://host[:port][/base]", shown("WORKFLOW_BASE_URL", c.BaseURL))
		}
	}
	return c.checkBaseURL()
}

// retention reads WORKFLOW_WORLD_RETENTION.
func (c config) retention() (world.Retention, error) {
	r, err := world.ParseRetention(c.Retention)
	if err != nil {
		return r, fmt.Errorf("WORKFLOW_WORLD_RETENTION: %w", err)
	}
	return r, nil
}

// tokens splits WORKFLOW_WORLD_TOKEN.
func (c config) tokens() []string { return splitList(c.Token, ",") }

// splitList splits a list and drops spaces and empty parts.
func splitList(list, separator string) []string {
	var out []string
	for t := range strings.SplitSeq(list, separator) {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// setting is one line of `world-redis env`.
type setting struct{ Name, Default, Help string }

func settings() []setting {
	t := reflect.TypeFor[config]()
	out := make([]setting, 0, t.NumField()+len(clientVariables))
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		out = append(out, setting{Name: tag.Get("env"), Default: tag.Get("envDefault"), Help: tag.Get("help")})
	}
	return append(out, clientVariables...)
}

func unknownVariables(vars map[string]string) []string {
	known := map[string]bool{}
	for _, s := range settings() {
		known[s.Name] = true
	}
	var unknown []string
	for name := range vars {
		ours := strings.HasPrefix(name, "WORKFLOW_WORLD_") || strings.HasPrefix(name, "WORKFLOW_REDIS_")
		if ours && !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}
