// Package redistest gives tests a real redis-server.
//
// There is one server per test binary. It starts on a free port when a test first needs it, and [Main] stops it. Each
// test has its own key prefix, so tests run in parallel without flushing anything. A test that must stop or restart
// Redis starts its own with [Start].
package redistest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// Redis is what a test works with.
type Redis struct {
	Client redis.UniversalClient
	Addr   string // host:port; for a cluster all of them, separated by commas
	Prefix string // of this test's keys; ends in ":"
	Mode   redisconn.Mode
}

// URL returns the address in the form of the service's setting.
func (r *Redis) URL() string {
	switch r.Mode {
	case redisconn.Cluster:
		return "redis+cluster://" + r.Addr
	case redisconn.Sentinel:
		return "redis+sentinel://" + r.Addr + "/0?master=" + SentinelMaster
	default:
		return "redis://" + r.Addr + "/0"
	}
}

// Keys returns the keys that match a pattern, of all nodes of a cluster.
func (r *Redis) Keys(ctx context.Context, pattern string) ([]string, error) {
	cluster, ok := r.Client.(*redis.ClusterClient)
	if !ok {
		return r.Client.Keys(ctx, pattern).Result()
	}
	var mu sync.Mutex
	var all []string
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	})
	return all, err
}

type shared struct {
	once   sync.Once
	server *Server
	err    error
	count  atomic.Int64

	onCluster   bool
	clusterOnce sync.Once
	cluster     *cluster
	clusterErr  error

	atEnd []func()
}

var binary shared

// Main runs a package's tests, ends the shared servers and then looks for leaked
// goroutines; pass goleak.Find, and [OnCluster] if Each is to run on a cluster, too.
func Main(m *testing.M, find func(...goleak.Option) error, options ...func()) {
	for _, option := range options {
		option()
	}
	code := m.Run()
	for _, end := range binary.atEnd {
		end()
	}
	if binary.server != nil {
		binary.server.end()
	}
	if binary.cluster != nil {
		binary.cluster.end()
	}
	// go-redis's check for a server that was gone ends by itself, within a second after its pool ends.
	if err := find(goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "leaked goroutines:", err)
		code = 1
	}
	os.Exit(code)
}

// AtEnd is an option of [Main]: a function that ends what else the tests share.
func AtEnd(end func()) func() { return func() { binary.atEnd = append(binary.atEnd, end) } }

// New returns the shared server under a fresh prefix. The client closes with the test.
func New(tb testing.TB) *Redis {
	tb.Helper()
	binary.once.Do(func() { binary.server, binary.err = launch() })
	if binary.err != nil {
		tb.Fatalf("redis-server: %v", binary.err)
	}
	r := &Redis{Addr: binary.server.Addr, Prefix: prefix(tb), Mode: redisconn.Standalone}
	r.Client = Client(tb, r.Addr)
	return r
}

// Embedded returns an embedded Redis for one test.
func Embedded(tb testing.TB) *Redis {
	tb.Helper()
	c, err := redisconn.Open(context.Background(), "")
	if err != nil {
		tb.Fatalf("embedded Redis: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close the embedded Redis: %v", err)
		}
	})
	return &Redis{Client: c.Client, Prefix: prefix(tb), Mode: redisconn.Embedded}
}

// Each runs a test on the real server and on the embedded one, and with [OnCluster] on a cluster.
func Each(t *testing.T, test func(t *testing.T, r *Redis)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, New(t)) })
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, Embedded(t)) })
	if binary.onCluster {
		t.Run("cluster", func(t *testing.T) { t.Parallel(); test(t, NewCluster(t)) })
	}
}

// Client returns a client for an address, configured like the service's own.
func Client(tb testing.TB, addr string) *redis.Client {
	tb.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close the Redis client: %v", err)
		}
	})
	return c
}

func prefix(tb testing.TB) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, tb.Name())
	return fmt.Sprintf("t%d-%s:", binary.count.Add(1), name)
}

// Server is a redis-server process that a test owns.
type Server struct {
	Addr string
	dir  string
	args []string
	cmd  *exec.Cmd
}

// Start starts a server for one test, without persistence unless args enable it.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, err := launch(args...)
	if err != nil {
		tb.Fatalf("redis-server: %v", err)
	}
	tb.Cleanup(s.end)
	return s
}

func launch(args ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{
		Addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir,
		args: append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"}, args...),
	}
	return s, s.Restart()
}

// Restart starts the process again on the same port, after [Server.Stop].
func (s *Server) Restart() error {
	if err := s.Launch(); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer c.Close() //nolint:errcheck // nothing to lose
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := c.Ping(context.Background()).Err()
		if err == nil || redis.IsAuthError(err) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("redis-server did not answer: %w", err)
		}
	}
}

// Launch is Restart without waiting until the server answers. If a setting occurs twice, the one in args applies.
func (s *Server) Launch(args ...string) error {
	s.cmd = exec.Command("redis-server", append(slices.Clone(s.args), args...)...) //nolint:gosec // arguments of the test itself
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server (is it installed?): %w", err)
	}
	return nil
}

// Stop ends the process as an operator would (SIGTERM) and waits for it.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// Kill kills the process and waits for it.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = s.cmd.Wait() // "signal: killed" is what was asked for
	return nil
}

// Freeze stops the process with its connections open, until [Server.Thaw].
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw continues a frozen process.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

func (s *Server) end() {
	if s.cmd.ProcessState == nil {
		_ = s.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

// FreePort returns a port that a server can listen on.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// freePort finds a port for a server, with a second free one 10,000 above it, which a cluster node uses for its bus.
// Both are below the ports of outgoing connections, so none of those can take one in the meantime.
func freePort() (int, error) {
	for range 100 {
		port := 11_000 + rand.IntN(10_000) //nolint:gosec // any port does
		if available(port) && available(port+10_000) {
			return port, nil
		}
	}
	return 0, errors.New("no free port between 11000 and 31000")
}

func available(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	return err == nil && l.Close() == nil
}
