package redisconn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
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
	// maxSnapshotItems is the most values of one key in a file; cbor's own limit is 131,072.
	maxSnapshotItems = 1<<31 - 1
)

// snapshotMagic begins every file. It names the version of the format.
const snapshotMagic = "world-redis snapshot 1\n"

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

// entry is one key in the file.
type entry struct {
	_       struct{} `cbor:",toarray"`
	Kind    string
	Key     []byte
	Expires int64    // milliseconds since 1970; 0: never
	Values  [][]byte // of a hash: fields and values; of a sorted set: members and scores; of a stream: see flatten
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

// entryOf reads one row of dumpScript's reply.
func entryOf(row any, now time.Time) (entry, error) {
	fields, ok := row.([]any)
	if !ok || len(fields) != 4 {
		return entry{}, errors.New("the embedded Redis gave its data in an unknown form")
	}
	key, isKey := fields[0].(string)
	kind, isKind := fields[1].(string)
	ttl, isTTL := fields[2].(int64)
	values, isList := fields[3].([]any)
	if !isKey || !isKind || !isTTL || !isList {
		return entry{}, errors.New("the embedded Redis gave its data in an unknown form")
	}
	e := entry{Kind: kind, Key: []byte(key)}
	if ttl >= 0 {
		e.Expires = now.UnixMilli() + max(ttl, 1)
	}
	for _, value := range values {
		flat, err := flatten(value)
		if err != nil {
			return entry{}, fmt.Errorf("the key %q: %w", key, err)
		}
		e.Values = append(e.Values, flat...)
	}
	return e, nil
}

// flatten returns a string as it is, and an entry of a stream as its id, the number of its strings, and these.
func flatten(value any) ([][]byte, error) {
	if text, ok := value.(string); ok {
		return [][]byte{[]byte(text)}, nil
	}
	pair, ok := value.([]any)
	if !ok || len(pair) != 2 {
		return nil, fmt.Errorf("a value of the type %T", value)
	}
	id, isText := pair[0].(string)
	fields, isList := pair[1].([]any)
	if !isText || !isList {
		return nil, errors.New("an unknown form of a stream's entry")
	}
	out := [][]byte{[]byte(id), []byte(strconv.Itoa(len(fields)))}
	for _, field := range fields {
		text, ok := field.(string)
		if !ok {
			return nil, fmt.Errorf("a field of the type %T", field)
		}
		out = append(out, []byte(text))
	}
	return out, nil
}

// replaceFile writes a file completely or not at all, and returns when the disk has it.
func replaceFile(path string, body []byte) (err error) {
	sum := sha256.Sum256(body)
	next := path + ".next"                                                 // one of a crash is written over
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the path is the operator's
	if err != nil {
		return err
	}
	for _, part := range [][]byte{[]byte(snapshotMagic), sum[:], body} {
		if _, err := f.Write(part); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be synced there
	}
	folder, err := os.Open(filepath.Dir(path)) //nolint:gosec // as above
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// load fills a server that has not started with the data of the file. A missing file means no data.
func (s *snapshot) load(server *miniredis.Miniredis) error {
	content, err := os.ReadFile(s.file.Path) //nolint:gosec // the operator chose it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the data of the embedded Redis: %w", err)
	}
	loaded, err := restore(server, content, time.Now())
	if err != nil {
		return fmt.Errorf("the data of the embedded Redis in %s cannot be used: %w; move the file away to start without it", s.file.Path, err)
	}
	s.file.Logger.Info("the embedded Redis has the data of its last snapshot", slog.String("file", s.file.Path), slog.Int("keys", loaded))
	return nil
}

// restore writes the keys of a file that have not expired, and returns how many.
func restore(server *miniredis.Miniredis, content []byte, now time.Time) (int, error) {
	rest, ok := bytes.CutPrefix(content, []byte(snapshotMagic))
	if !ok || len(rest) < sha256.Size {
		return 0, errors.New("it is not a snapshot, or one of another version")
	}
	body := rest[sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return 0, errors.New("it is damaged: its checksum is wrong")
	}
	mode, err := cbor.DecOptions{MaxArrayElements: maxSnapshotItems}.DecMode()
	if err != nil {
		return 0, err
	}
	decoder, loaded := mode.NewDecoder(bytes.NewReader(body)), 0
	for {
		var e entry
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return loaded, nil
		}
		if err != nil {
			return loaded, err
		}
		if e.Expires != 0 && e.Expires <= now.UnixMilli() {
			continue
		}
		if err := e.restore(server); err != nil {
			return loaded, fmt.Errorf("the key %q: %w", e.Key, err)
		}
		if e.Expires != 0 {
			server.SetTTL(string(e.Key), time.Duration(e.Expires-now.UnixMilli())*time.Millisecond)
		}
		loaded++
	}
}

var errShortEntry = errors.New("it has too few values")

func (e *entry) restore(server *miniredis.Miniredis) error {
	key, values := string(e.Key), make([]string, len(e.Values))
	for i, value := range e.Values {
		values[i] = string(value)
	}
	if len(values) == 0 || (e.Kind == "hash" || e.Kind == "zset") && len(values)%2 != 0 {
		return errShortEntry
	}
	switch e.Kind {
	case "string":
		return server.Set(key, values[0])
	case "hash":
		server.HSet(key, values...)
		return nil
	case "list":
		_, err := server.Push(key, values...)
		return err
	case "set":
		_, err := server.SetAdd(key, values...)
		return err
	case "zset":
		for i := 0; i < len(values); i += 2 {
			score, err := strconv.ParseFloat(values[i+1], 64)
			if err != nil {
				return err
			}
			if _, err := server.ZAdd(key, score, values[i]); err != nil {
				return err
			}
		}
		return nil
	case "stream":
		return restoreStream(server, key, values)
	default:
		return fmt.Errorf("the type %.20q is unknown", e.Kind)
	}
}

func restoreStream(server *miniredis.Miniredis, key string, values []string) error {
	for len(values) > 0 {
		if len(values) < 2 {
			return errShortEntry
		}
		n, err := strconv.Atoi(values[1])
		if err != nil || n < 0 || n > len(values)-2 {
			return errShortEntry
		}
		if _, err := server.XAdd(key, values[0], values[2:2+n]); err != nil {
			return err
		}
		values = values[2+n:]
	}
	return nil
}
