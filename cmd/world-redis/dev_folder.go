package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/world-redis/world-redis/internal/processtree"
)

// devFolder is the folder of the data of `world-redis dev`. One process uses it at a time.
type devFolder struct {
	at    string // absolute
	name  string // as given
	lock  *flock.Flock
	state devState
}

// devState is what the next start has to know if this process is killed: the processes that it leaves behind. It is stored in
// state.json, which only its owner can read.
type devState struct {
	PID   int         `json:"pid"`
	Redis *redisState `json:"redis,omitempty"`
	Child *childState `json:"child,omitempty"`
}

type redisState struct {
	PID      int    `json:"pid"`
	Created  int64  `json:"created"` // of the process, in milliseconds since 1970
	Port     int    `json:"port"`
	Password string `json:"password"`
}

type childState struct {
	PID     int   `json:"pid"`
	Created int64 `json:"created"`
	Group   bool  `json:"group"` // whether it has a process group of its own
}

// openDevFolder makes the folder if it is missing, and takes its lock.
func openDevFolder(name string) (*devFolder, error) {
	at, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("the folder of the data: %w", err)
	}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the data cannot be made: %w", err)
	}
	f := &devFolder{at: at, name: name, lock: flock.New(filepath.Join(at, "lock"), flock.SetPermissions(0o600))}
	locked, err := f.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the lock of %s cannot be taken: %w", at, err)
	}
	if !locked {
		other := ""
		if f.read() == nil && f.state.PID != 0 {
			other = fmt.Sprintf(" (process %d)", f.state.PID)
		}
		return nil, fmt.Errorf("another `world-redis dev`%s uses the data in %s: end it, or give this one a folder of its own with --data", other, at)
	}
	if err := os.WriteFile(f.path(".gitignore"), []byte("*\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("the folder of the data cannot be written: %w", err), f.lock.Close())
	}
	return f, nil
}

func (f *devFolder) path(name string) string { return filepath.Join(f.at, name) }

func (f *devFolder) shown(name string) string { return filepath.Join(f.name, name) }

// other says that there are data of another kind of Redis, which are not used.
func (f *devFolder) other(name, kind string) string {
	if _, err := os.Stat(f.path(name)); err != nil {
		return ""
	}
	return fmt.Sprintf(" (data of %s in %s are not used)", kind, f.shown(name))
}

// endLeftovers ends what a killed process left behind: its command, whose port the next one needs, and its redis-server, which
// uses the same files. Then it stores its own state.
func (f *devFolder) endLeftovers(ctx context.Context, say *devPrinter) error {
	if err := f.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		say.line("%s is not readable (%v); if a redis-server of an earlier start still runs, end it", f.path("state.json"), err)
	}
	if c := f.state.Child; c != nil && processtree.Is(ctx, c.PID, c.Created) {
		say.line("the last `world-redis dev` here was killed; its command, process %d, is ended", c.PID)
		endTree(ctx, newTree(c.PID, c.Group), c.PID, c.Group, 5*time.Second)
	}
	if r := f.state.Redis; r != nil && processtree.Is(ctx, r.PID, r.Created) {
		say.line("the last `world-redis dev` here was killed; its redis-server, process %d, is ended", r.PID)
		r.end(ctx)
	}
	f.state = devState{PID: os.Getpid()}
	return f.store()
}

func (f *devFolder) read() error {
	content, err := os.ReadFile(f.path("state.json")) //nolint:gosec // in the folder of the data
	if err != nil {
		return err
	}
	return json.Unmarshal(content, &f.state)
}

// store writes the state, so that a crash leaves the old one or the new one.
func (f *devFolder) store() error {
	content, err := json.Marshal(f.state)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path("state.next"), content, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path("state.next"), f.path("state.json"))
}

func (f *devFolder) noteRedis(r *redisState) error {
	f.state.Redis = r
	return f.store()
}

func (f *devFolder) noteChild(c *devChild) error {
	f.state.Child = &childState{PID: c.pid, Created: c.created, Group: c.group}
	return f.store()
}

// writeClient writes the client for the app and returns its path. A file with the same content is left, because tools that
// watch files would restart the app.
func (f *devFolder) writeClient() (string, error) {
	path := f.path("world-redis.cjs")
	if content, err := os.ReadFile(path); err == nil && string(content) == string(clientFile) { //nolint:gosec // in the folder of the data
		return path, nil
	}
	if err := os.WriteFile(path+".next", clientFile, 0o600); err != nil {
		return "", fmt.Errorf("the client for the app cannot be written: %w", err)
	}
	return path, os.Rename(path+".next", path)
}

// close is called when everything has ended.
func (f *devFolder) close() error {
	err := os.Remove(f.path("state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.lock.Close())
}
