package redisconn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// openKept opens an embedded Redis with the data of a file.
func openKept(t *testing.T, file redisconn.SnapshotFile) *redisconn.Conn {
	t.Helper()
	c, err := redisconn.Connect("", redisconn.Snapshot(file))
	require.NoError(t, err)
	require.NoError(t, c.Ping(t.Context()))
	return c
}

// never is longer than a test: the only snapshot is the one at the end.
const never = time.Hour

func TestASnapshotHasEveryTypeWithItsExpiry(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "snapshot")
	c := openKept(t, redisconn.SnapshotFile{Path: path, Every: never})
	binary := "\x00\xff{key}\r\n\xc3\x28"
	many := make([]any, 140_000) // more than cbor's own limit for a list
	for i := range many {
		many[i] = fmt.Sprint("member ", i)
	}
	_, err := c.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "string", "", 0)
		p.Set(ctx, binary, binary+"value", 0)
		p.HSet(ctx, "hash", "field", "value", "", "empty name", binary, binary)
		p.RPush(ctx, "list", "b", "a", "b", "", binary)
		p.SAdd(ctx, "set", "x", "", binary)
		p.SAdd(ctx, "many", many...)
		p.ZAdd(ctx, "zset", redis.Z{Score: 1_796_073_886_410.125, Member: "late"}, redis.Z{Score: -0.1, Member: binary}, redis.Z{Score: 0, Member: "a"})
		p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "5-1", Values: []string{"f", binary, "g", ""}})
		p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "5-2", Values: []string{"f", "2"}})
		p.Set(ctx, "hour", "1", time.Hour)
		p.HSet(ctx, "month", "f", "1")
		p.Expire(ctx, "month", 30*24*time.Hour)
		p.Set(ctx, "soon", "1", 50*time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	c = openKept(t, redisconn.SnapshotFile{Path: path, Every: never})
	defer func() { require.NoError(t, c.Close()) }()
	require.Eventually(t, func() bool { return c.Client.Exists(ctx, "soon").Val() == 0 }, time.Minute, 10*time.Millisecond)
	keys, err := c.Client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"string", binary, "hash", "list", "set", "many", "zset", "stream", "hour", "month"}, keys)
	require.Empty(t, c.Client.Get(ctx, "string").Val())
	require.Equal(t, binary+"value", c.Client.Get(ctx, binary).Val())
	require.Equal(t, map[string]string{"field": "value", "": "empty name", binary: binary}, c.Client.HGetAll(ctx, "hash").Val())
	require.Equal(t, []string{"b", "a", "b", "", binary}, c.Client.LRange(ctx, "list", 0, -1).Val())
	require.ElementsMatch(t, []string{"x", "", binary}, c.Client.SMembers(ctx, "set").Val())
	require.EqualValues(t, len(many), c.Client.SCard(ctx, "many").Val())
	require.Equal(t, []redis.Z{{Score: -0.1, Member: binary}, {Score: 0, Member: "a"}, {Score: 1_796_073_886_410.125, Member: "late"}}, c.Client.ZRangeWithScores(ctx, "zset", 0, -1).Val())
	require.Equal(t, []redis.XMessage{
		{ID: "5-1", Values: map[string]any{"f": binary, "g": ""}}, {ID: "5-2", Values: map[string]any{"f": "2"}},
	}, c.Client.XRange(ctx, "stream", "-", "+").Val())
	require.InDelta(t, time.Hour, c.Client.PTTL(ctx, "hour").Val(), float64(10*time.Minute))
	require.InDelta(t, 30*24*time.Hour, c.Client.PTTL(ctx, "month").Val(), float64(10*time.Minute))
	require.Equal(t, time.Duration(-1), c.Client.PTTL(ctx, "hash").Val())
}

func TestASnapshotIsWrittenWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "snapshot")
	c := openKept(t, redisconn.SnapshotFile{Path: path, Every: 5 * time.Millisecond})
	defer func() { require.NoError(t, c.Close()) }()
	require.NoError(t, c.Client.Set(ctx, "k", "v", 0).Err())
	// A copy of the file is what a kill leaves.
	require.Eventually(t, func() bool { return valueAfterKill(t, path, "k") == "v" }, time.Minute, 20*time.Millisecond)
}

// valueAfterKill returns the value of a key in what is on the disk now.
func valueAfterKill(t *testing.T, path, key string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.WriteFile(copied, content, 0o600))
	c := openKept(t, redisconn.SnapshotFile{Path: copied, Every: never})
	defer func() { require.NoError(t, c.Close()) }()
	return c.Client.Get(context.Background(), key).Val()
}

// Every snapshot is the data at one point in time: two keys that are only changed together are equal in it.
func TestASnapshotIsOnePointInTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "snapshot")
	c := openKept(t, redisconn.SnapshotFile{Path: path, Every: time.Millisecond})
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if _, err := c.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "a")
				p.HIncrBy(ctx, "z", "n", 1)
				return nil
			}); err != nil {
				stopped <- err
				return
			}
		}
	}()
	seen := map[string]struct{}{}
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		copied := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, os.WriteFile(copied, content, 0o600))
		kept := openKept(t, redisconn.SnapshotFile{Path: copied, Every: never})
		a, z := kept.Client.Get(ctx, "a").Val(), kept.Client.HGet(ctx, "z", "n").Val()
		require.NoError(t, kept.Close())
		require.Equal(t, a, z)
		if a != "" {
			seen[a] = struct{}{}
		}
		return len(seen) >= 10
	}, time.Minute, time.Millisecond)
	close(stop)
	require.NoError(t, <-stopped)
	require.NoError(t, c.Close())
}

// A process that is killed while it writes leaves half of the next file. The one before counts, and the next snapshot is
// written over the half.
func TestACrashBeforeTheRenameLeavesTheLastSnapshot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "snapshot")
	c := openKept(t, redisconn.SnapshotFile{Path: path, Every: never})
	require.NoError(t, c.Client.Set(ctx, "k", "first", 0).Err())
	require.NoError(t, c.Close())
	require.NoError(t, os.WriteFile(path+".next", make([]byte, 1<<20), 0o600))

	c = openKept(t, redisconn.SnapshotFile{Path: path, Every: never})
	require.Equal(t, "first", c.Client.Get(ctx, "k").Val())
	require.NoError(t, c.Client.Set(ctx, "k", "second", 0).Err())
	require.NoError(t, c.Close())
	require.Equal(t, "second", valueAfterKill(t, path, "k"))
	require.NoFileExists(t, path+".next")
}

func TestADamagedSnapshotIsRefusedAndLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "snapshot")
	c := openKept(t, redisconn.SnapshotFile{Path: path, Every: never})
	require.NoError(t, c.Client.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, c.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, change := range map[string]struct {
		content []byte
		reason  string
	}{
		"a changed byte": {append(content[:len(content)-1:len(content)-1], content[len(content)-1]^1), "its checksum is wrong"},
		"cut off":        {content[:len(content)-3], "its checksum is wrong"},
		"empty":          {nil, "it is not a snapshot, or one of another version"},
		"something else": {[]byte("{}"), "it is not a snapshot, or one of another version"},
	} {
		require.NoError(t, os.WriteFile(path, change.content, 0o600))
		_, err := redisconn.Connect("", redisconn.Snapshot(redisconn.SnapshotFile{Path: path}))
		require.ErrorContains(t, err, change.reason, name)
		require.ErrorContains(t, err, path)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Len(t, left, len(change.content), name)
	}
}

// A full disk, or a folder that was removed, does not stop the service. The log says so once, and when it is over.
func TestASnapshotThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	folder, out := filepath.Join(t.TempDir(), "folder"), &worldtest.Log{}
	path := filepath.Join(folder, "snapshot")
	c := openKept(t, redisconn.SnapshotFile{Path: path, Every: 2 * time.Millisecond, Logger: out.Logger()})
	require.NoError(t, c.Client.Set(t.Context(), "k", "v", 0).Err())
	require.Eventually(t, func() bool { return out.Count("could not be written") == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "v", c.Client.Get(t.Context(), "k").Val())
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.Eventually(t, func() bool { return out.Count("is written again") == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, out.Count("could not be written"))
	require.NoError(t, os.RemoveAll(folder))
	require.ErrorContains(t, c.Close(), "could not be written to "+path+" at the end")
}
