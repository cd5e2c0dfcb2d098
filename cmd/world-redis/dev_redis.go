package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/processtree"
)

const (
	// redisStartLimit is how long a redis-server may take to load its data.
	redisStartLimit = 2 * time.Minute
	// redisEndLimit is how long it may take to end before it is killed.
	redisEndLimit = 10 * time.Second
	redisTries    = 5 // free ports that are tried
)

// devRedis is a redis-server that this process has started.
type devRedis struct {
	url    string
	cmd    *exec.Cmd
	state  redisState
	failed chan error // has an error if it ends by itself
	ended  chan struct{}
	ending chan struct{} // closed by stop
}

var redisVersion = regexp.MustCompile(`\bv=((\d+)\.(\d+)\.\d+)`)

// findRedisServer returns a redis-server or valkey-server that is new enough, and its version; empty if there is none.
func findRedisServer(ctx context.Context) (binary, version string) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		said, err := exec.CommandContext(ctx, path, "--version").Output() //nolint:gosec // one of the two names
		if err != nil {
			continue
		}
		if version, ok := usableRedis(string(said)); ok {
			return path, version
		}
	}
	return "", ""
}

// usableRedis returns the version in what a server prints, and whether it is at least 6.2.
func usableRedis(said string) (string, bool) {
	m := redisVersion.FindStringSubmatch(said)
	if m == nil {
		return "", false
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	return m[1], major > 6 || major == 6 && minor >= 2
}

// startDevRedis starts a server with its files in the folder, on a free port of the loopback interface, and returns when it
// answers. Others on this machine can reach the port, so it has a password.
func startDevRedis(ctx context.Context, binary string, folder *devFolder) (*devRedis, error) {
	if err := os.MkdirAll(folder.path("redis"), 0o700); err != nil {
		return nil, err
	}
	var err error
	for range redisTries {
		var r *devRedis
		if r, err = launchDevRedis(ctx, binary, folder); err != nil {
			return nil, err
		}
		if err = r.awaitAnswer(ctx); err == nil {
			return r, nil
		}
		err = errors.Join(err, r.stop())
		if !strings.Contains(lastLines(folder.path("redis/redis.log")), "Address already in use") {
			break
		}
	}
	return nil, fmt.Errorf("%s does not start with the data in %s: %w (its log: %s; --embedded does without it)", binary, folder.path("redis"), err, folder.path("redis/redis.log"))
}

func launchDevRedis(ctx context.Context, binary string, folder *devFolder) (*devRedis, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	log := folder.path("redis/redis.log")
	if err := os.Remove(log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r := &devRedis{
		state:  redisState{Port: port, Password: rand.Text()},
		failed: make(chan error, 1), ended: make(chan struct{}), ending: make(chan struct{}),
	}
	r.url = fmt.Sprintf("redis://:%s@127.0.0.1:%d/0", r.state.Password, port)
	r.cmd = exec.Command(binary, "-") //nolint:gosec,noctx // found by its name; it ends in stop, after the service
	r.cmd.Stdin = strings.NewReader(strings.Join([]string{
		"bind 127.0.0.1", "port " + strconv.Itoa(port), "requirepass " + r.state.Password, "daemonize no",
		"dir " + redisQuoted(folder.path("redis")), "logfile " + redisQuoted(log), "loglevel warning",
		"appendonly yes", "appendfsync everysec", `save ""`, "maxmemory 0", "maxmemory-policy noeviction",
	}, "\n") + "\n")
	ownGroup(r.cmd) // Ctrl-C is not for it
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		err := r.cmd.Wait()
		close(r.ended)
		select {
		case <-r.ending:
		default:
			r.failed <- fmt.Errorf("%s, which has the data, ended (%w); its log: %s", binary, cmpError(err, "exit status 0"), log)
		}
	}()
	r.state.PID = r.cmd.Process.Pid
	r.state.Created, _ = processtree.Created(context.Background(), r.state.PID)
	if err := folder.noteRedis(&r.state); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// redisQuoted writes a value for the settings of a redis-server.
func redisQuoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// freePort returns a port of the loopback interface on which nothing listens.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	address, err := netip.ParseAddrPort(l.Addr().String())
	return int(address.Port()), errors.Join(err, l.Close())
}

// awaitAnswer waits until the server has loaded its data.
func (r *devRedis) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisStartLimit)
	defer cancel()
	client := r.state.client()
	defer func() { _ = client.Close() }() // it was for this
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-r.ended:
			return errors.New("it ended")
		default:
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

func (s *redisState) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", s.Port), Password: s.Password, ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: 1})
}

// stop ends the server in order, so that its file is complete. A second time it does nothing.
func (r *devRedis) stop() error {
	select {
	case <-r.ended:
		return nil
	default:
	}
	close(r.ending)
	ctx, cancel := context.WithTimeout(context.Background(), redisEndLimit)
	defer cancel()
	r.state.shutdown(ctx)
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
	}
	err := fmt.Errorf("redis-server, process %d, did not end within %s and was killed; its file has all but the last second", r.state.PID, redisEndLimit)
	_ = r.cmd.Process.Kill() // it may have ended just now
	<-r.ended
	return err
}

// shutdown asks the server to write its file and to end. Only the server of this state knows the password.
func (s *redisState) shutdown(ctx context.Context) {
	client := s.client()
	defer func() { _ = client.Close() }() // it was for this
	_ = client.ShutdownNoSave(ctx).Err()  // there is no answer when it works; the append-only file is written
}

// end ends a server of an earlier process: in order, or by force if it does not answer.
func (s *redisState) end(ctx context.Context) {
	asked, cancel := context.WithTimeout(ctx, redisEndLimit)
	defer cancel()
	s.shutdown(asked)
	if awaitEnd(asked, s.PID, s.Created) {
		return
	}
	if p, err := os.FindProcess(s.PID); err == nil && processtree.Is(ctx, s.PID, s.Created) {
		_ = p.Kill() // it may have ended just now
	}
	killed, cancelKilled := context.WithTimeout(ctx, redisEndLimit)
	defer cancelKilled()
	awaitEnd(killed, s.PID, s.Created)
}

// awaitEnd waits for the end of a process that may not be a child of this one.
func awaitEnd(ctx context.Context, pid int, created int64) bool {
	for processtree.Is(ctx, pid, created) {
		if !pause.For(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}

// lastLines returns the end of a file; empty if it cannot be read.
func lastLines(path string) string {
	content, err := os.ReadFile(path) //nolint:gosec // in the folder of the data
	if err != nil {
		return ""
	}
	return string(content[max(0, len(content)-2000):])
}
