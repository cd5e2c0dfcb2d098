package redisconn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/redis/go-redis/v9"
)

const (
	// SnapshotEvery is the default time between two snapshots of an embedded Redis.
	SnapshotEvery = 5 * time.Second
	// LargeSnapshot is the size, in bytes, from which an embedded Redis warns once that its data is large.
	LargeSnapshot = 256 << 20
	// snapshotShare limits the time spent with snapshots, in which the embedded Redis answers no one: the next one waits
	// this many times as long as the last one took.
	snapshotShare = 20
	// rewriteAfter is when a snapshot is written again in which only the expiry of keys has changed.
	rewriteAfter = time.Minute
	// snapshotReadTimeout limits how long a snapshot may take to be read from the embedded Redis.
	snapshotReadTimeout = 5 * time.Minute
)

// SnapshotFile says where an embedded Redis keeps its data. It reads the file when it starts, and writes it every few
// seconds if something has changed, and when it is closed.
type SnapshotFile struct {
	Path   string
	Every  time.Duration // 0: SnapshotEvery
	Logger *slog.Logger  // nil: nothing is logged
}

// Snapshot keeps the data of an embedded Redis in a file. It has no effect on other connections.
//
// A snapshot is the data at one point in time. It is written to a second file, which replaces the first one once the
// disk has it. A crash loses what was written after the last snapshot: at most Every and the time that a snapshot
// takes, as long as a snapshot takes less than a twentieth of Every; larger data is written less often.
func Snapshot(file SnapshotFile) Option { return func(t *target) { t.snapshot = &file } }

// snapshot writes the data of an embedded Redis to its file.
type snapshot struct {
	file   SnapshotFile
	client *redis.Client

	sum     [sha256.Size]byte // of the data in the file, without the times of expiry
	written time.Time
	warned  bool // of the size
	failing bool
}

func newSnapshot(file SnapshotFile) *snapshot {
	if file.Every <= 0 {
		file.Every = SnapshotEvery
	}
	if file.Logger == nil {
		file.Logger = slog.New(slog.DiscardHandler)
	}
	return &snapshot{file: file}
}

func (s *snapshot) connect(address, password string) {
	s.client = redis.NewClient(&redis.Options{
		Addr: address, Password: password, ContextTimeoutEnabled: true, ReadTimeout: snapshotReadTimeout, PoolSize: 1, MaxRetries: -1,
	})
}

// keep writes snapshots until done is closed.
func (s *snapshot) keep(done <-chan struct{}) {
	pause := s.file.Every
	for {
		timer := time.NewTimer(pause)
		select {
		case <-done:
			timer.Stop()
			return
		case <-timer.C:
		}
		began := time.Now()
		err := s.write(began.Sub(s.written) > rewriteAfter)
		if err != nil && !s.failing {
			s.file.Logger.Error("the data of the embedded Redis could not be written; the file has the data of the last snapshot, and the service tries again",
				slog.String("file", s.file.Path), slog.String("reason", err.Error()))
		}
		if err == nil && s.failing {
			s.file.Logger.Info("the data of the embedded Redis is written again", slog.String("file", s.file.Path))
		}
		s.failing = err != nil
		pause = max(s.file.Every, snapshotShare*time.Since(began))
	}
}

// finish writes the last snapshot.
func (s *snapshot) finish() error {
	err := s.write(true)
	if err != nil {
		err = fmt.Errorf("the data of the embedded Redis could not be written to %s at the end: %w", s.file.Path, err)
	}
	return errors.Join(err, s.client.Close())
}

// dumpScript returns every key as {key, type, milliseconds until it expires, values}. miniredis runs nothing else
// meanwhile, so it is the data at one point in time; reading key by key through its Go API would not be. (Its DUMP knows
// strings only.)
var dumpScript = redis.NewScript(`
local read = {
  string = function(key) return {redis.call('GET', key)} end,
  hash = function(key) return redis.call('HGETALL', key) end,
  list = function(key) return redis.call('LRANGE', key, 0, -1) end,
  set = function(key) return redis.call('SMEMBERS', key) end,
  zset = function(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  stream = function(key) return redis.call('XRANGE', key, '-', '+') end,
}
local all = {}
for i, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  if not read[kind] then return redis.error_reply('the key ' .. key .. ' has the type ' .. kind .. ', which snapshots do not support') end
  all[i] = {key, kind, redis.call('PTTL', key), read[kind](key)}
end
return all
`)

// write writes the file if the data has changed, or always.
func (s *snapshot) write(always bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), snapshotReadTimeout)
	defer cancel()
	now := time.Now()
	reply, err := dumpScript.Eval(ctx, s.client, nil).Slice()
	if err != nil {
		return fmt.Errorf("read the data: %w", err)
	}
	var body bytes.Buffer
	sum, encoder := sha256.New(), cbor.NewEncoder(&body)
	contents := cbor.NewEncoder(sum)
	for _, row := range reply {
		e, err := entryOf(row, now)
		if err != nil {
			return err
		}
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("encode the data: %w", err)
		}
		e.Expires = min(e.Expires, 1)
		if err := contents.Encode(e); err != nil {
			return fmt.Errorf("encode the data: %w", err)
		}
	}
	if body.Len() > LargeSnapshot && !s.warned {
		s.warned = true
		s.file.Logger.Warn("the data of the embedded Redis is large, and is written less often than every few seconds: use a redis-server",
			slog.String("file", s.file.Path), slog.Int("bytes", body.Len()))
	}
	if same := bytes.Equal(sum.Sum(nil), s.sum[:]); same && !always {
		return nil
	}
	if err := replaceFile(s.file.Path, body.Bytes()); err != nil {
		return err
	}
	copy(s.sum[:], sum.Sum(nil))
	s.written = now
	return nil
}
