package object

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
)

const (
	// temporary begins the name of a file that is being written. A crash may leave one; nobody reads it.
	temporary = ".part-"
	// filesAtOnce is how many files are written at a time: most of it is waiting for the disk.
	filesAtOnce = 16
	fileMode    = 0o640
	folderMode  = 0o750
)

// folder is a bucket in the file system.
type folder struct{ root string }

// path is where an object is. Names have no parts such as "..": they are made from ids (path.go).
func (f *folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

func (f *folder) where(name string) string { return "file " + f.path(name) }

func (f *folder) close() error { return nil }

// put writes all files under temporary names first, with fsync, and renames them then, so that a copy that breaks off stores nothing.
// The folders are synced last: without that, a power failure may lose the names.
func (f *folder) put(ctx context.Context, objects []object) (err error) {
	written := make([]string, len(objects))
	defer func() {
		for _, path := range written {
			if path != "" {
				_ = os.Remove(path) // it is renamed, or of no use
			}
		}
	}()
	writers, writing := errgroup.WithContext(ctx)
	writers.SetLimit(filesAtOnce)
	for i, o := range objects {
		writers.Go(func() (err error) {
			if writing.Err() != nil {
				return writing.Err()
			}
			written[i], err = f.write(o)
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		return f.fault(err)
	}
	folders := map[string]bool{}
	for i, o := range objects {
		path := f.path(o.name)
		if err := os.Rename(written[i], path); err != nil {
			return f.fault(err)
		}
		folders[filepath.Dir(path)] = true
	}
	for path := range folders {
		if err := syncFolder(path); err != nil {
			return f.fault(err)
		}
	}
	return nil
}

// write writes an object under a temporary name, which it returns.
func (f *folder) write(o object) (path string, err error) {
	dir := filepath.Dir(f.path(o.name))
	if err := f.makeFolder(dir); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, temporary+"*")
	if err != nil {
		return "", err
	}
	path = file.Name()
	out := bufio.NewWriterSize(file, 64<<10)
	err = o.write(out)
	if err == nil {
		err = errors.Join(out.Flush(), file.Chmod(fileMode))
	}
	if err == nil {
		err = file.Sync()
	}
	return path, errors.Join(err, file.Close())
}

// makeFolder makes a folder, and syncs those above it that it made one in. The root must exist: a disk that is not mounted must not
// be taken for an empty archive.
func (f *folder) makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if dir == f.root || len(dir) < len(f.root) {
		return &fs.PathError{Op: "open", Path: f.root, Err: fs.ErrNotExist}
	}
	if err := f.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}

func (f *folder) open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.missing(); err != nil {
			return nil, err
		}
		return nil, errNoObject
	}
	if err != nil {
		return nil, f.fault(err)
	}
	return file, nil
}

// missing is an error if the folder of the archive itself is not there.
func (f *folder) missing() error {
	_, err := os.Stat(f.root)
	return f.fault(err)
}

func (f *folder) list(_ context.Context, name string) (folders, objects []string, err error) {
	entries, err := os.ReadDir(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, f.missing()
	}
	if err != nil {
		return nil, nil, f.fault(err)
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			folders = append(folders, e.Name())
		case !strings.HasPrefix(e.Name(), temporary):
			objects = append(objects, e.Name())
		}
	}
	slices.Sort(folders)
	slices.Sort(objects)
	return folders, objects, nil
}

func (f *folder) remove(_ context.Context, name string) error {
	path := f.path(name)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.missing()
	}
	if err != nil {
		return f.fault(err)
	}
	return f.fault(syncFolder(filepath.Dir(path)))
}

func (f *folder) check(ctx context.Context) error {
	o := object{name: temporary + "check", write: func(w io.Writer) error {
		_, err := io.WriteString(w, "world-redis")
		return err
	}}
	if err := f.missing(); err != nil {
		return err
	}
	if err := f.put(ctx, []object{o}); err != nil {
		return err
	}
	return f.remove(ctx, o.name)
}

// fault says in a sentence what is wrong with the folder, if that is known.
func (f *folder) fault(err error) error {
	var pathErr *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of the archive %s is full: make room, or set WORKFLOW_WORLD_ARCHIVE to another place: %w", f.root, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the archive %s cannot be read and written by this user: change its owner or mode: %w", f.root, err)
	case errors.As(err, &pathErr) && pathErr.Path == f.root && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the archive %s does not exist: create the folder, or mount its disk: %w", f.root, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the archive %s is not a folder: %w", f.root, err)
	}
	return err
}
