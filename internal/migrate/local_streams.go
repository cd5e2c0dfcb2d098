package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/world-redis/world-redis"
)

// findChunks notes the files of each stream. A file's name ends with the id of its chunk, and these sort by time.
func (l *local) findChunks() error {
	root := filepath.Join(l.folder, "streams", "chunks")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, ok := strings.CutSuffix(e.Name(), ".bin")
		if !ok || strings.Contains(name, ".") {
			return nil
		}
		stream := filepath.Base(filepath.Dir(path))
		if filepath.Dir(path) == root {
			if stream, _, ok = cutLast(name, "-chnk_"); !ok {
				return nil
			}
		}
		l.chunks[stream] = append(l.chunks[stream], path)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, paths := range l.chunks {
		slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(chunkID(a), chunkID(b)) })
	}
	return err
}

func chunkID(path string) string {
	_, id, _ := cutLast(filepath.Base(path), "chnk_")
	return id
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

func (l *local) streamsOf(runID string) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		var file struct{ Streams []string }
		err := l.read(&file, "streams", "runs", runID)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(world.RunPart{}, err)
			return
		}
		for _, name := range file.Streams {
			if !l.stream(name, yield) {
				return
			}
		}
	}
}

// stream yields a stream and its chunks. What a World has behind an end is left out, because nobody reads it there.
func (l *local) stream(name string, yield func(world.RunPart, error) bool) (more bool) {
	s := &world.StreamCopy{Name: name}
	for _, path := range l.chunks[name] {
		isEnd, err := firstByteIsOne(path)
		if err != nil {
			return yield(world.RunPart{}, err)
		}
		if isEnd {
			s.Ends = []int64{s.Count}
			break
		}
		s.Count++
	}
	if !yield(world.RunPart{Stream: s}, nil) {
		return false
	}
	for index, path := range l.chunks[name][:s.Count] {
		stored, err := os.ReadFile(path) //nolint:gosec // a file of the folder that was named
		if err != nil {
			return yield(world.RunPart{}, err)
		}
		if !yield(world.RunPart{Chunk: &world.Chunk{Index: int64(index), Data: stored[1:]}}, nil) {
			return false
		}
	}
	return true
}

func firstByteIsOne(path string) (isOne bool, err error) {
	file, err := os.Open(path) //nolint:gosec // a file of the folder that was named
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var first [1]byte
	if _, err := file.Read(first[:]); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return first[0] == 1, nil
}
