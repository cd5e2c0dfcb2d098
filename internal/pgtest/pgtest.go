// Package pgtest gives tests a real PostgreSQL.
//
// There is one server per test binary. It starts on a free port when a test first needs it, and [Main] (or [End]) stops it. Each
// test has a schema of its own. A test that stops or restarts PostgreSQL starts its own with [Start].
package pgtest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var shared struct {
	once   sync.Once
	server *Server
	err    error
	count  atomic.Int64
}

// Main runs a package's tests, ends the shared server and then looks for leaked goroutines; pass goleak.Find.
func Main[O any](m *testing.M, find func(...O) error) {
	code := m.Run()
	End()
	if err := find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "leaked goroutines:", err)
		code = 1
	}
	os.Exit(code)
}

// End ends the shared server, if it was started.
func End() {
	if shared.server != nil {
		shared.server.end()
	}
}

// New returns the URL of the shared server, with a schema of the test's own, which does not exist yet. The server does not wait for
// the disk, since it is never started again.
func New(tb testing.TB) (url string) {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = launch("-c", "fsync=off") })
	if shared.err != nil {
		tb.Fatalf("PostgreSQL: %v", shared.err)
	}
	return shared.server.URL() + "&schema=" + fmt.Sprintf("t%d", shared.count.Add(1))
}

// Server is a PostgreSQL server that a test owns.
type Server struct {
	port int
	dir  string
	bin  string
	cmd  *exec.Cmd

	settings []string
	stdin    io.Writer
}

// Start starts a server for one test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s, err := launch()
	if err != nil {
		tb.Fatalf("PostgreSQL: %v", err)
	}
	tb.Cleanup(s.end)
	return s
}

// URL returns the address of its database, as a user with all rights.
func (s *Server) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// Restart starts the server again on the same port, after [Server.Stop], and waits until it answers.
func (s *Server) Restart() error {
	args := []string{
		"-c", untilEnd, "sh", filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", fmt.Sprint(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=100", "-c", "logging_collector=off", "-c", "log_min_messages=fatal",
	}
	s.cmd = s.command("sh", append(args, s.settings...)...)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.stdin = stdin
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if s.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", fmt.Sprint(s.port)).Run() == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the server did not answer within a minute")
		}
	}
}

// untilEnd runs a server until it reads the name of a signal, or this process has ended, however that happened.
const untilEnd = `"$@" </dev/null & server=$!; read -r name; kill -"${name:-QUIT}" $server; wait $server`

// Stop ends the server as an operator would, without waiting for its clients.
func (s *Server) Stop() error { return s.signal("INT") }

// Crash ends it as a crash of the machine would, but for what the disk has not written.
func (s *Server) Crash() error { return s.signal("QUIT") }

func (s *Server) signal(name string) error {
	if _, err := io.WriteString(s.stdin, name+"\n"); err != nil {
		return err
	}
	_ = s.cmd.Wait() // its exit code says how it was ended
	return nil
}

func (s *Server) end() {
	if s.cmd != nil && s.cmd.ProcessState == nil {
		_ = s.Crash()
	}
	_ = os.RemoveAll(s.dir)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command is one of PostgreSQL's programs. They refuse to run as root, who gives them to the user nobody.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	if name != "sh" {
		name = filepath.Join(s.bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// nobody is the user and the group of that name on every Linux.
const nobody = 65534

func launch(settings ...string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{port: port, dir: dir, bin: bin, settings: settings}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return nil, err
		}
	}
	out, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Restart()
}

// programs returns the folder of PostgreSQL's programs: that of the path, or the newest of Debian's.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("there is no initdb: install PostgreSQL (on Debian: apt-get install postgresql)")
	}
	return filepath.Dir(slices.Max(found)), nil
}

// freePort returns a port below those of outgoing connections, so none of those can take it in the meantime.
func freePort() (int, error) {
	for range 100 {
		port := 21_000 + rand.IntN(10_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil && l.Close() == nil {
			return port, nil
		}
	}
	return 0, errors.New("no free port between 21000 and 31000")
}
