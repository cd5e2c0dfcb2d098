package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/processtree"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// beApp makes this test binary an app at a port and, after a space, a base path: it answers as the SDK's flow route does,
// registers the address in TEST_APP_REGISTERS if there is one, and ends with exit code 3 at SIGINT.
const beApp = "TEST_BE_APP"

func runTestApp(setting string) {
	var port int
	var path string
	_, _ = fmt.Sscan(setting, &port, &path)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	http.HandleFunc("POST "+path+"/.well-known/workflow/v1/flow", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"healthy":true}`)
	})
	if path != "" {
		http.Handle("GET /{$}", http.RedirectHandler(path+"/", http.StatusFound))
	}
	go func() {
		fmt.Println(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", port), nil)) //nolint:gosec // of a test
		os.Exit(1)
	}()
	<-interrupted
	os.Exit(3)
}

// devProcess is `world-redis dev` as a process of its own, in a folder of its own.
type devProcess struct {
	*process
	folder string
}

// startDev starts it with a shell's command; $APP in it is the app of runTestApp.
func startDev(t *testing.T, folder, command string, flags ...string) *devProcess {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	out := &worldtest.Log{}
	p := &devProcess{folder: folder, process: &process{out: out}}
	args := append(append([]string{"dev"}, flags...), "--", "sh", "-c", "trap : INT; "+command+"; exit $?") // without the trap the shell ends at SIGINT itself
	p.cmd = exec.Command(self, args...)                                                                     //nolint:gosec // the test binary itself
	p.cmd.Dir = folder
	p.cmd.WaitDelay = time.Second // the command of one that is killed runs on, with the streams
	p.cmd.Env = append(os.Environ(), beService+"=1", "APP="+self)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p
}

func (p *devProcess) await(t *testing.T, pattern string) []string {
	t.Helper()
	compiled := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool { return p.out.Find(compiled) != nil }, 2*time.Minute, 10*time.Millisecond, "%s", p.out)
	return p.out.Find(compiled)
}

// exits waits for the end and returns the exit code.
func (p *devProcess) exits(t *testing.T) int {
	t.Helper()
	failed := new(exec.ExitError)
	if err := p.cmd.Wait(); err != nil {
		require.ErrorAs(t, err, &failed)
		return failed.ExitCode()
	}
	return 0
}

func (p *devProcess) state(t *testing.T) (s devState) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(p.folder, ".world-redis", "state.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &s))
	return s
}

func app(port int, path string) string { return fmt.Sprintf(`TEST_BE_APP="%d %s" "$APP"`, port, path) }

func TestDevFindsTheAppBelowAShellAndEndsBoth(t *testing.T) {
	t.Parallel()
	port := redistest.FreePort(t)
	p := startDev(t, t.TempDir(), app(port, ""), "--embedded")
	service := p.await(t, `service  (http://127\.0\.0\.1:\d+)`)[1]
	p.await(t, `data     in memory, and in \.world-redis/snapshot every 5s and at exit: kill -9 loses at most 5s\n`)
	p.await(t, `app      http://localhost:`+strconv.Itoa(port)+` `)
	require.Eventually(t, func() bool {
		_, body := get(t, service+"/v1/apps")
		return regexp.MustCompile(`"baseUrl":"http://127\.0\.0\.1:` + strconv.Itoa(port) + `","deploymentId":"dpl_world-redis","leaseSeconds":30.*"alive":true`).MatchString(body)
	}, time.Minute, 10*time.Millisecond, "an app that never registers is registered")
	client, err := os.ReadFile(filepath.Join(p.folder, ".world-redis", "world-redis.cjs"))
	require.NoError(t, err)
	require.Equal(t, clientFile, client)
	ignored, err := os.ReadFile(filepath.Join(p.folder, ".world-redis", ".gitignore"))
	require.NoError(t, err)
	require.Equal(t, "*\n", string(ignored))
	child := p.state(t).Child

	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 3, p.exits(t), "the app's own exit code: %s", p.out)
	require.False(t, processtree.Is(t.Context(), child.PID, child.Created))
	require.FileExists(t, filepath.Join(p.folder, ".world-redis", "snapshot"))
	require.NoFileExists(t, filepath.Join(p.folder, ".world-redis", "state.json"))
	_, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	require.Error(t, err, "the app has ended")
	require.NotContains(t, p.out.String(), "level=WARN")
}

func TestDevFindsTheBasePathToWhichTheRootRedirects(t *testing.T) {
	t.Parallel()
	port := redistest.FreePort(t)
	p := startDev(t, t.TempDir(), app(port, "/base"), "--embedded")
	p.await(t, fmt.Sprintf(`app      http://localhost:%d/base `, port))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, p.exits(t), "the shell's, which SIGTERM has ended")
}

func TestDevKillsACommandThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	p := startDev(t, t.TempDir(), `trap "" INT TERM; echo trapped; while :; do sleep 0.1; done`, "--embedded", "--grace", "300ms")
	p.await(t, `trapped`)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 128+9, p.exits(t))
}

func TestDevEndsWhatItsCommandLeavesBehind(t *testing.T) {
	t.Parallel()
	port := redistest.FreePort(t)
	p := startDev(t, t.TempDir(), app(port, "")+` & sleep 0.1; exit 6`, "--embedded")
	require.Equal(t, 6, p.exits(t))
	require.Eventually(t, func() bool {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err == nil && l.Close() == nil
	}, time.Minute, 10*time.Millisecond)
}

func TestDevReturnsHowItsCommandEnds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := startDev(t, folder, `echo "url=$WORKFLOW_WORLD_URL world=$WORKFLOW_TARGET_WORLD"; exit 0`, "--embedded")
	require.Equal(t, 0, p.exits(t), "%s", p.out)
	service := p.await(t, `service  (\S+)`)[1]
	at, err := filepath.EvalSymlinks(folder)
	require.NoError(t, err)
	require.Contains(t, p.out.String(), "url="+service+" world="+filepath.Join(at, ".world-redis", "world-redis.cjs"))

	missing := exec.Command(p.cmd.Path, "dev", "--embedded", "--", "no-such-command-here") //nolint:gosec // the test binary itself
	missing.Dir, missing.Env = folder, p.cmd.Env
	said, err := missing.CombinedOutput()
	failed := new(exec.ExitError)
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 127, failed.ExitCode())
	require.Contains(t, string(said), `the command cannot be started: exec: "no-such-command-here": executable file not found`)
}

func TestTwoDevsDoNotShareAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := startDev(t, folder, "sleep 60", "--embedded") // without a terminal, cat would end at once
	first.await(t, `queue    `)
	second := startDev(t, folder, "true", "--embedded")
	require.Equal(t, 1, second.exits(t))
	require.Contains(t, second.out.String(), fmt.Sprintf("another `world-redis dev` (process %d) uses the data in ", first.cmd.Process.Pid))
	third := startDev(t, folder, "exit 4", "--embedded", "--data", "elsewhere")
	require.Equal(t, 4, third.exits(t), "%s", third.out)
}

// A dev that is killed leaves its command and its redis-server behind. The next one ends both and has the data.
func TestDevAfterAKill(t *testing.T) {
	t.Parallel()
	folder, port := t.TempDir(), redistest.FreePort(t)
	p := startDev(t, folder, app(port, ""))
	p.await(t, `data     in \.world-redis/redis, redis-server \S+ with an append-only file: a crash loses at most the last second\n`)
	p.await(t, `app      http://localhost:`)
	before := p.state(t)
	client := before.Redis.client()
	require.NoError(t, client.Set(t.Context(), "kept", "yes", 0).Err())
	require.NoError(t, client.Close())
	p.kill()
	require.True(t, processtree.Is(t.Context(), before.Child.PID, before.Child.Created))
	require.True(t, processtree.Is(t.Context(), before.Redis.PID, before.Redis.Created))

	p = startDev(t, folder, app(port, ""))
	p.await(t, fmt.Sprintf(`its command, process %d, is ended`, before.Child.PID))
	p.await(t, fmt.Sprintf(`its redis-server, process %d, is ended`, before.Redis.PID))
	p.await(t, `app      http://localhost:`)
	require.False(t, processtree.Is(t.Context(), before.Child.PID, before.Child.Created))
	require.False(t, processtree.Is(t.Context(), before.Redis.PID, before.Redis.Created))
	client = p.state(t).Redis.client()
	require.Equal(t, "yes", client.Get(t.Context(), "kept").Val())
	require.NoError(t, client.Close())
	after := p.state(t).Redis
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 3, p.exits(t))
	require.False(t, processtree.Is(t.Context(), after.PID, after.Created))
}

func TestDevEndsWithItsRedis(t *testing.T) {
	t.Parallel()
	p := startDev(t, t.TempDir(), app(redistest.FreePort(t), ""))
	p.await(t, `app      http://localhost:`)
	require.NoError(t, syscall.Kill(p.state(t).Redis.PID, syscall.SIGKILL))
	require.Equal(t, 1, p.exits(t))
	require.Contains(t, p.out.String(), "which has the data, ended (signal: killed); its log: ")
}

func TestWhereDevDelivers(t *testing.T) {
	t.Parallel()
	a := newDevApp(&devPrinter{out: io.Discard})
	to := func(address string) string {
		at, err := a.redirect(address)
		if err != nil {
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			return "nowhere"
		}
		return at
	}
	require.True(t, a.isMissing())
	require.Equal(t, "nowhere", to("localhost:3000"), "another app may listen there")
	require.Equal(t, "app.example:3000", to("app.example:3000"))
	require.Equal(t, "192.168.1.7:3000", to("192.168.1.7:3000"))
	require.False(t, a.note([]processtree.Listener{{Addr: netip.MustParseAddrPort("0.0.0.0:5173")}, {Addr: netip.MustParseAddrPort("[::1]:24678")}}))
	require.Equal(t, "localhost:5173", to("localhost:5173"))
	require.Equal(t, "nowhere", to("127.0.0.1:3000"))
	a.found = foundApp{addr: netip.MustParseAddrPort("127.0.0.1:5173")}
	require.False(t, a.isMissing())
	require.Equal(t, "127.0.0.1:5173", to("localhost:5173"))
	require.Equal(t, "127.0.0.1:5173", to("localhost:3000"))
	require.Equal(t, "127.0.0.1:5173", to("[::1]:3000"))
	require.Equal(t, "localhost:24678", to("localhost:24678"), "another app of the same command")
	require.Equal(t, "app.example:3000", to("app.example:3000"))
	require.False(t, a.note([]processtree.Listener{{Addr: netip.MustParseAddrPort("0.0.0.0:5173")}}))
	require.True(t, a.note(nil), "the app has ended, or is started again")
	require.True(t, a.isMissing())
	require.Equal(t, "nowhere", to("localhost:5173"))
}

func TestOfSeveralAppsTheLowestPortCounts(t *testing.T) {
	t.Parallel()
	a := newDevApp(&devPrinter{out: io.Discard})
	a.probe = func(_ context.Context, base string) error {
		if base == "http://127.0.0.1:3001" {
			return errors.New("no app")
		}
		return nil
	}
	a.registry = emptyRegistry{}
	listeners := []processtree.Listener{{Addr: netip.MustParseAddrPort("127.0.0.1:45000")}, {Addr: netip.MustParseAddrPort("0.0.0.0:3002")}, {Addr: netip.MustParseAddrPort("127.0.0.1:3001")}}
	a.note(listeners)
	require.Eventually(t, func() bool { return a.findAmong(t.Context(), listeners) }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "http://localhost:3002", a.where().shown())
	a.ended.Wait()
}

// emptyRegistry is a registry in which no app is.
type emptyRegistry struct{}

func (emptyRegistry) RegisterApp(context.Context, world.App) error        { return nil }
func (emptyRegistry) UnregisterApp(context.Context, string, string) error { return nil }
func (emptyRegistry) ListApps(context.Context) ([]world.App, error)       { return nil, nil }

// heldApps is a registry in memory.
type heldApps struct{ apps []world.App }

func (h *heldApps) RegisterApp(ctx context.Context, a world.App) error {
	if err := h.UnregisterApp(ctx, a.BaseURL, a.DeploymentID); err != nil {
		return err
	}
	h.apps = slices.DeleteFunc(h.apps, func(o world.App) bool { return o.BaseURL == a.BaseURL && o.DeploymentID == a.DeploymentID })
	a.Alive = true
	h.apps = append(h.apps, a)
	return nil
}

func (h *heldApps) UnregisterApp(_ context.Context, baseURL, deploymentID string) error {
	for i, a := range h.apps {
		if a.BaseURL == baseURL && a.DeploymentID == deploymentID {
			h.apps[i].Alive = false
		}
	}
	return nil
}

func (h *heldApps) ListApps(context.Context) ([]world.App, error) { return slices.Clone(h.apps), nil }

func TestDevRegistersAnAppThatDoesNot(t *testing.T) {
	t.Parallel()
	ctx, held := t.Context(), &heldApps{}
	a := newDevApp(&devPrinter{out: io.Discard})
	a.registry, a.names = held, namesOf([]string{"WORKFLOW_DEPLOYMENT_ID=dpl_shop", "WORKFLOW_QUEUE_NAMESPACE=ns"})
	a.found = foundApp{addr: netip.MustParseAddrPort("127.0.0.1:5173"), path: "/base"}
	own := world.App{BaseURL: "http://127.0.0.1:5173/base", DeploymentID: "dpl_shop", Namespace: "ns", Lease: devLease, Alive: true}
	a.register(ctx)
	a.register(ctx)
	require.Equal(t, []world.App{own}, held.apps)

	// The app registers itself, at a wrong address: that is redirected, and it says more.
	itself := world.App{BaseURL: "http://localhost:3000", DeploymentID: "dpl_shop", SDK: "v4", TakesPreload: true}
	require.NoError(t, held.RegisterApp(ctx, itself))
	a.register(ctx)
	own.Alive, itself.Alive = false, true
	require.Equal(t, []world.App{own, itself}, held.apps)

	// It no longer does, and a deployment of an earlier day is known: messages for it wait.
	require.NoError(t, held.UnregisterApp(ctx, itself.BaseURL, "dpl_shop"))
	old := world.App{BaseURL: "http://localhost:9", DeploymentID: "dpl_old", SDK: "v5", TakesPreload: true}
	far := world.App{BaseURL: "http://far.example", DeploymentID: "dpl_far", SDK: "v5"}
	held.apps = append(held.apps, old, far)
	a.register(ctx)
	own.Alive, itself.Alive = true, false
	again := old
	again.BaseURL, again.Lease, again.Alive = "http://127.0.0.1:5173/base", devLease, true
	require.ElementsMatch(t, []world.App{own, itself, old, far, again}, held.apps)
	a.stop()
	apps, err := held.ListApps(ctx)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(apps, func(a world.App) bool { return a.Alive }))
}

func TestVariablesOfTheApp(t *testing.T) {
	t.Parallel()
	const service = "http://127.0.0.1:8787"
	v := devVariables([]string{"PATH=/bin", "WORKFLOW_WORLD_URL="}, "/p/world-redis.cjs", service)
	require.Equal(t, []string{"WORKFLOW_TARGET_WORLD=/p/world-redis.cjs", "WORKFLOW_WORLD_URL=" + service}, v.added)
	require.True(t, v.own)
	v = devVariables([]string{"WORKFLOW_TARGET_WORLD=@world-redis/client", "WORKFLOW_WORLD_URL=http://localhost:8787"}, "/p/world-redis.cjs", service)
	require.Empty(t, v.added)
	require.Equal(t, "@world-redis/client", v.world)
	require.True(t, v.own)
	v = devVariables([]string{"WORKFLOW_WORLD_URL=http://10.0.0.5:8787"}, "/p/world-redis.cjs", service)
	require.False(t, v.own)
	out := &worldtest.Log{}
	(&devPrinter{out: out}).started(service, "somewhere", v)
	require.Contains(t, out.String(), "NOTE: WORKFLOW_WORLD_URL is set to http://10.0.0.5:8787, so the app uses the service there")
}

func TestWhereDevListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	taken := l.Addr().String()
	require.Equal(t, "127.0.0.1:0", freeListen(taken, ""))
	require.Equal(t, "127.0.0.1:0", freeListen("127.0.0.1:8787", "http://"+taken))
	require.NoError(t, l.Close())
	free := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	require.Equal(t, free, freeListen(free, "http://far.example:80"))
	require.Equal(t, free, freeListen(taken, "http://"+strings.Replace(free, "127.0.0.1", "localhost", 1)))
}

func TestRedisServersThatDevUses(t *testing.T) {
	t.Parallel()
	for said, version := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0": "7.0.15", "Redis server v=6.2.0 sha=0": "6.2.0", "Valkey server v=8.1.3 sha=0": "8.1.3",
		"Redis server v=6.0.16 sha=0": "", "Redis server v=5.3.0 sha=0": "", "something": "",
	} {
		got, ok := usableRedis(said)
		require.Equal(t, version != "", ok, said)
		if ok {
			require.Equal(t, version, got)
		}
	}
}

// An app that boots, or compiles, is nothing to warn of; trouble with Redis is.
func TestWarningsAboutAppsWhileTheAppIsMissing(t *testing.T) {
	t.Parallel()
	for _, missing := range []bool{true, false} {
		out := &worldtest.Log{}
		text := slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn})
		logger := slog.New(bootHandler{text, func() bool { return missing }}).With(slog.String("namespace", "n"))
		logger.Warn("the app cannot be reached", slog.String("app", "http://localhost:3000"))
		logger.Warn("messages wait", slog.String("kind", "flow"), slog.String("deployment", "dpl_1"))
		logger.Warn("Redis is slow", slog.String("redis", "x"))
		require.Equal(t, 1, out.Count("Redis is slow"))
		require.Equal(t, missing, out.Count("app cannot be reached")+out.Count("messages wait") == 0)
	}
}
