package redistest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Monitor sees every command that a server executes, including those inside scripts.
type Monitor struct {
	tb    testing.TB
	addr  string
	conn  net.Conn
	lines *bufio.Reader
}

// Work is what a server did for its callers.
type Work struct {
	Calls   int    // most commands in one call of a script
	Fields  int    // most fields that one call, or a single command, removed from hashes, sets and sorted sets
	Deleted int    // keys that scripts removed other than by UNLINK
	Script  string // SHA-1 of the script with the most commands
	Scripts int    // calls of scripts
}

// NewMonitor starts watching the server at an address, which must belong to the test.
func NewMonitor(tb testing.TB, addr string) *Monitor {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatalf("monitor: %v", err)
	}
	m := &Monitor{tb: tb, addr: addr, conn: conn, lines: bufio.NewReaderSize(conn, 1<<20)}
	tb.Cleanup(m.Close)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		tb.Fatalf("monitor: %v", err)
	}
	if line, err := m.lines.ReadString('\n'); err != nil || line != "+OK\r\n" {
		tb.Fatalf("monitor: %q, %v", line, err)
	}
	return m
}

// Close stops watching.
func (m *Monitor) Close() { _ = m.conn.Close() }

// Commands returns what connections have sent since the last call: the connection and the command, in order.
func (m *Monitor) Commands() (sent [][2]string) {
	m.tb.Helper()
	m.each(func(from, command, _ string) {
		if from != "lua" {
			sent = append(sent, [2]string{from, command})
		}
	})
	return sent
}

var monitored = regexp.MustCompile(`^\+[\d.]+ \[\d+ (\S+)\] "(\w+)"`)

// Since returns the work since the last call.
func (m *Monitor) Since() Work {
	m.tb.Helper()
	var w Work
	sha, calls, fields := "", 0, 0
	m.each(func(from, command, line string) {
		in := from == "lua"
		if in {
			calls++
		} else {
			calls, fields = 0, 0
		}
		args := strings.Count(line, `" "`)
		switch command {
		case "EVALSHA":
			w.Scripts++
			sha = strings.Split(line, `" "`)[1]
		case "HDEL", "ZREM", "SREM":
			fields += args - 1
		case "DEL":
			if in {
				w.Deleted += args
			}
		}
		if calls > w.Calls {
			w.Calls, w.Script = calls, sha
		}
		w.Fields = max(w.Fields, fields)
	})
	return w
}

// each calls see for every command since the last call, with its sender, its name and the line.
func (m *Monitor) each(see func(from, command, line string)) {
	m.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: m.addr})
	defer c.Close() //nolint:errcheck // nothing to lose
	mark := fmt.Sprintf("mark %d", time.Now().UnixNano())
	if err := c.Echo(ctx, mark).Err(); err != nil {
		m.tb.Fatalf("monitor: %v", err)
	}
	for {
		line, err := m.lines.ReadString('\n')
		if err != nil {
			m.tb.Fatalf("monitor: %v", err)
		}
		if strings.Contains(line, mark) {
			return
		}
		found := monitored.FindStringSubmatch(line)
		if found == nil {
			m.tb.Fatalf("monitor: %.200q", line)
		}
		see(found[1], strings.ToUpper(found[2]), line)
	}
}
