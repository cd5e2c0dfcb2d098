package redisconn

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/fxamacker/cbor/v2"
)

// snapshotMagic begins every file. It names the version of the format.
const snapshotMagic = "world-redis snapshot 1\n"

// maxSnapshotItems is the most values of one key in a file; cbor's own limit is 131,072.
const maxSnapshotItems = 1<<31 - 1

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
