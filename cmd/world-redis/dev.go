package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis/httpapi"
	"github.com/world-redis/world-redis/internal/redisconn"
)

// devDrain is how long running deliveries may continue after the command has ended: their app has ended, too.
const devDrain = 2 * time.Second

// anyPort is the address of a listener whose port the system chooses.
const anyPort = "127.0.0.1:0"

// exitNotStarted is a shell's exit code for a command that cannot be started.
const exitNotStarted = 127

// exitError ends the program with an exit code and prints nothing.
type exitError struct{ code int }

func (e *exitError) Error() string { return "" }

// devOptions are the flags of the command.
type devOptions struct {
	data     string
	embedded bool
	grace    time.Duration
}

func devCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run the service and an app together, for development",
		Long: `Runs the service, and the command that starts an app, until one of them ends:

  world-redis dev -- npm run dev

The command gets WORKFLOW_TARGET_WORLD, the client for the app as a file, and WORKFLOW_WORLD_URL, the address of the
service. Variables that are set already stay as they are. The app needs no package and no other change.

The service listens on 127.0.0.1:8787, or on a free port if that one is taken. It delivers to the app at the port on
which the command, or any process below it, listens and answers as a workflow app; a wrong address that the app
registers, such as http://localhost:3000, does no harm. Addresses outside of this machine are used as registered.

The data stay in the folder .world-redis, which one such command can use at a time:
  - by a redis-server (6.2 or newer) or valkey-server found in PATH, with an append-only file: a crash loses at most
    the last second;
  - otherwise, and with --embedded, in memory. They are written to a file every 5 seconds if something has changed, and
    at the end, so kill -9 loses at most 5 seconds. From about 100 MB on they are written less often.
Delete the folder to start without data. If WORKFLOW_REDIS_URL or REDIS_URL is set, the data are in that Redis.

Ctrl-C ends the app first, then the service. The exit code is that of the command. All settings of the service
apply (` + "`world-redis env`" + `); its log shows warnings only, unless WORKFLOW_WORLD_LOG_LEVEL is set.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer collectLater()()
			return runDev(cmd.Context(), o, args, os.Environ(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.data, "data", ".world-redis", "folder of the data")
	f.BoolVar(&o.embedded, "embedded", false, "keep the data in memory and in a file, even if there is a redis-server")
	f.DurationVar(&o.grace, "grace", 10*time.Second, "how long the command may take to end before it is killed")
	return cmd
}

// runDev runs the service and the command until one of them ends or a signal arrives, and then ends both.
func runDev(ctx context.Context, o devOptions, command, environ []string, out io.Writer) (err error) {
	signals := catchSignals()
	defer signals.stop()
	ctx = context.WithoutCancel(ctx) // signals go to the command first; the service ends after it
	say := &devPrinter{out: out}

	folder, err := openDevFolder(o.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.close()) }()
	if err := folder.endLeftovers(ctx, say); err != nil {
		return err
	}

	app := newDevApp(say)
	c, logger, err := devConfig(environ, out, app.isMissing)
	if err != nil {
		return err
	}
	setRedisLog(logger)
	store, err := openDevStore(ctx, o, folder, &c, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()

	service, err := startDevService(ctx, c, logger, store, app)
	if chosen := !environment(environ).has("WORKFLOW_WORLD_LISTEN"); err != nil && chosen && freeListen(c.Listen, "") != c.Listen {
		c.Listen = anyPort // another process has taken the port in between
		service, err = startDevService(ctx, c, logger, store, app)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	client, err := folder.writeClient()
	if err != nil {
		return err
	}
	vars := devVariables(environ, client, service.url)
	say.started(service.url, store.text, vars)

	child, err := startDevChild(command, append(slices.Clone(environ), vars.added...))
	if err != nil {
		say.line("%v", err)
		return &exitError{exitNotStarted}
	}
	if err := folder.noteChild(child); err != nil {
		child.end(o.grace)
		return err
	}
	app.begin(ctx, child, service.registry)
	defer app.stop()

	code, err := child.await(signals, service.failed, store.failed, o.grace)
	app.stop()
	if err != nil {
		return err
	}
	if code != 0 {
		return &exitError{code}
	}
	return nil
}

// devConfig returns the settings of the service, and its logger. While the app is missing, what the log says about apps is
// no warning: it boots or compiles.
func devConfig(environ []string, out io.Writer, isMissing func() bool) (config, *slog.Logger, error) {
	c, unknown, err := loadConfig(environ)
	if err != nil {
		return c, nil, err
	}
	set := environment(environ)
	if !set.has("WORKFLOW_WORLD_LOG_LEVEL") {
		c.LogLevel = slog.LevelWarn
	}
	if !set.has("WORKFLOW_WORLD_SHUTDOWN_GRACE") {
		c.ShutdownGrace = devDrain
	}
	c.BaseURL = "" // in the app's environment, it is the app that registers it
	logger := slog.New(bootHandler{newLogger(out, c).Handler(), isMissing})
	slices.Sort(unknown)
	for _, name := range unknown {
		logger.Warn("unknown setting, ignored: misspelt? see `world-redis env`", slog.String("variable", name))
	}
	if !set.has("WORKFLOW_WORLD_LISTEN") {
		c.Listen = freeListen(c.Listen, set.get("WORKFLOW_WORLD_URL"))
	}
	return c, logger, nil
}

// freeListen returns the address on which the service listens: the one at which the app will look for it, if that is on this
// machine; otherwise the usual one; a free port if that one is taken.
func freeListen(usual, url string) string {
	if at, ok := loopbackAddress(url); ok {
		usual = at
	}
	l, err := net.Listen("tcp", usual) //nolint:noctx // it is closed at once
	if err == nil && l.Close() == nil {
		return usual
	}
	return anyPort
}

// loopbackAddress returns host:port of an http URL of this machine.
func loopbackAddress(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Port() == "" || !isLoopbackHost(u.Hostname()) {
		return "", false
	}
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, u.Port()), true
}

// environment is a process's variables. Of one that is there twice, the last counts.
type environment []string

func (e environment) get(name string) string {
	for _, line := range slices.Backward(e) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

func (e environment) has(name string) bool { return e.get(name) != "" }

// variables are those of the app.
type variables struct {
	added []string // NAME=value, for the command
	world string   // what the app has as WORKFLOW_TARGET_WORLD
	url   string   // and as WORKFLOW_WORLD_URL
	own   bool     // whether url is the service of this command
}

func devVariables(environ []string, client, service string) variables {
	set := environment(environ)
	v := variables{world: set.get("WORKFLOW_TARGET_WORLD"), url: set.get("WORKFLOW_WORLD_URL"), own: true}
	if v.world == "" {
		v.world = client
		v.added = append(v.added, "WORKFLOW_TARGET_WORLD="+client)
	}
	if v.url == "" {
		v.url = service
		v.added = append(v.added, "WORKFLOW_WORLD_URL="+service)
		return v
	}
	wanted, ok := loopbackAddress(v.url)
	actual, _ := loopbackAddress(service)
	v.own = ok && wanted == actual
	return v
}

// devStore is where the data are.
type devStore struct {
	text       string // description
	connection []redisconn.Option
	server     *devRedis // nil: none was started
	failed     <-chan error
}

// openDevStore starts the Redis of the data, if one has to be started, and puts its address into the settings.
func openDevStore(ctx context.Context, o devOptions, folder *devFolder, c *config, logger *slog.Logger) (*devStore, error) {
	if c.RedisURL != "" && !o.embedded {
		return &devStore{text: "in the Redis of WORKFLOW_REDIS_URL or REDIS_URL"}, nil
	}
	c.RedisURL = ""
	if !o.embedded {
		binary, version := findRedisServer(ctx)
		if binary != "" {
			server, err := startDevRedis(ctx, binary, folder)
			if err != nil {
				return nil, err
			}
			c.RedisURL = server.url
			return &devStore{
				text:   fmt.Sprintf("in %s, %s %s with an append-only file: a crash loses at most the last second%s", folder.shown("redis"), filepath.Base(binary), version, folder.other("snapshot", "the embedded Redis")),
				server: server, failed: server.failed,
			}, nil
		}
	}
	file := redisconn.SnapshotFile{Path: folder.path("snapshot"), Every: redisconn.SnapshotEvery, Logger: logger}
	return &devStore{
		text: fmt.Sprintf("in memory, and in %s every %s and at exit: kill -9 loses at most %s%s",
			folder.shown("snapshot"), file.Every, file.Every, folder.other("redis", "a redis-server")),
		connection: []redisconn.Option{redisconn.Snapshot(file)},
	}, nil
}

func (s *devStore) close() error {
	if s.server == nil {
		return nil
	}
	return s.server.stop()
}

// devService is the service in this process.
type devService struct {
	url      string
	registry *appCheck
	failed   <-chan error // has its error if it ends by itself
	cancel   context.CancelFunc
	ended    chan struct{}
	err      error
}

// startDevService returns once the service listens.
func startDevService(ctx context.Context, c config, logger *slog.Logger, store *devStore, app *devApp) (*devService, error) {
	ctx, cancel := context.WithCancel(ctx)
	listening, failed := make(chan struct{}), make(chan error, 1)
	s := &devService{cancel: cancel, ended: make(chan struct{}), failed: failed}
	go func() {
		defer close(s.ended)
		s.err = serveFor(ctx, c, logger, host{
			connection: store.connection, connected: []func(*redisconn.Conn){leaveProcessors}, redirect: app.redirect,
			started: func(api *httpapi.Server, _ *redisconn.Conn, tenants []*tenant) {
				s.url, s.registry = "http://"+api.Addr(), tenants[0].apps
				close(listening)
			},
		})
		if ctx.Err() == nil {
			failed <- cmpError(s.err, "the service ended")
			s.err = nil // it is reported once
		}
	}()
	select {
	case <-listening:
		return s, nil
	case err := <-failed:
		cancel()
		return nil, err
	}
}

// cmpError returns an error, or one with a text if there is none.
func cmpError(err error, text string) error {
	if err == nil {
		return errors.New(text)
	}
	return err
}

// stop ends the service and returns its error, unless it has failed before.
func (s *devService) stop() error {
	s.cancel()
	<-s.ended
	return s.err
}
