package object

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
)

func openFolder(tb testing.TB, root string) *Archive {
	tb.Helper()
	a, err := OpenFolder("file://"+root, Options{Folder: "workflow", Service: "test"})
	require.NoError(tb, err)
	return a
}

func TestAFolderKeepsTheContract(t *testing.T) {
	t.Parallel()
	archivetest.Test(t, archivetest.Subject{New: func(tb testing.TB) world.Archive { return openFolder(tb, tb.TempDir()) }, ByTimeOnly: true})
}

// The folder has one file a run, where its id says, and nothing else.
func TestAFileIsWhereItsIDSays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := openFolder(t, root)
	c := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))
	own := archivetest.Run("own:id")
	require.NoError(t, a.PutRuns(t.Context(), []*world.RunCopy{c, archivetest.Copy(own)}))
	require.NoError(t, a.Check(t.Context()))
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			files = append(files, rel)
		}
		return err
	}))
	require.Equal(t, []string{"workflow/other/own=id/1800000000123.wra", "workflow/runs/2027/01/15/08/" + c.Run.RunID + ".wra"}, files)

	// What a crash has left is no run.
	hour := filepath.Join(root, "workflow/runs/2027/01/15/08")
	require.NoError(t, os.WriteFile(filepath.Join(hour, temporary+"1"), []byte("half"), 0o600))
	runs, more, err := a.ListRuns(t.Context(), world.ArchivedRuns{Limit: 10, Order: world.Ascending})
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, runs, 2)
}

// A copy that breaks off leaves no file, and not even a temporary one.
func TestACopyThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := openFolder(t, root)
	sound, broken := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1)), archivetest.SixEvents(archivetest.RunID(archivetest.At, 2))
	broken.Parts = func(yield func(world.RunPart, error) bool) {
		yield(world.RunPart{}, &world.CopyError{RunID: broken.Run.RunID, Err: errors.New("gone")})
	}
	err := a.PutRuns(t.Context(), []*world.RunCopy{sound, broken})
	var copyErr *world.CopyError
	require.ErrorAs(t, err, &copyErr)
	require.Equal(t, broken.Run.RunID, copyErr.RunID)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		require.True(t, d.IsDir(), path)
		return err
	}))
}

// What is wrong with a folder is said in a sentence.
func TestFaultsOfAFolderAreClear(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	missing := openFolder(t, filepath.Join(root, "missing"))
	sentence := "the archive " + filepath.Join(root, "missing") + " does not exist: create the folder, or mount its disk"
	c := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))
	require.ErrorContains(t, missing.Check(t.Context()), sentence)
	require.ErrorContains(t, missing.PutRuns(t.Context(), []*world.RunCopy{c}), sentence)
	_, err := missing.GetRuns(t.Context(), []string{c.Run.RunID}, false)
	require.ErrorContains(t, err, sentence, "a disk that is not mounted is not an empty archive")
	_, _, err = missing.ListRuns(t.Context(), world.ArchivedRuns{Limit: 1})
	require.ErrorContains(t, err, sentence)
	require.ErrorContains(t, missing.DeleteRuns(t.Context(), []string{c.Run.RunID}), sentence)

	file := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, openFolder(t, file).Check(t.Context()), "the archive "+file+" is not a folder")

	f := &folder{root: "/archive"}
	require.ErrorContains(t, f.fault(&fs.PathError{Op: "write", Path: "/archive/x", Err: syscall.ENOSPC}), "the disk of the archive /archive is full: make room")
	require.ErrorContains(t, f.fault(&fs.PathError{Op: "open", Path: "/archive/x", Err: syscall.EACCES}), "the archive /archive cannot be read and written by this user")
	require.ErrorContains(t, f.fault(&fs.PathError{Op: "open", Path: "/archive/x", Err: syscall.EROFS}), "cannot be read and written")
	for _, bad := range []string{"file://host/x", "file:relative", "file:///x?y=1", "s3://x"} {
		_, err := OpenFolder(bad, Options{})
		require.Error(t, err, bad)
	}
}

// A damaged file is named, and other runs can be read.
func TestADamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := openFolder(t, root)
	c := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))
	require.NoError(t, a.PutRuns(t.Context(), []*world.RunCopy{c}))
	path := filepath.Join(root, "workflow/runs/2027/01/15/08", c.Run.RunID+".wra")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content[:len(content)-9], 0o600))
	var failed error
	for _, err := range a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll}) {
		failed = err
	}
	require.ErrorContains(t, failed, "the file "+path+" is damaged: the run that begins at byte 0 cannot be read beyond byte")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = a.GetRuns(t.Context(), []string{c.Run.RunID}, false)
	require.ErrorContains(t, err, "the file "+path+" is empty")
}

// A disk that is full while files are written loses nothing that was there.
func TestAFullDiskKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := &folder{root: t.TempDir()}
	write := func(text string, err error) object {
		return object{name: "a/b", write: func(w io.Writer) error {
			_, writeErr := io.Copy(w, strings.NewReader(text))
			return errors.Join(writeErr, err)
		}}
	}
	require.NoError(t, f.put(t.Context(), []object{write("old", nil)}))
	full := &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	require.ErrorContains(t, f.put(t.Context(), []object{write(strings.Repeat("new", 100_000), full)}), "is full: make room")
	in, err := f.open(t.Context(), "a/b")
	require.NoError(t, err)
	content, err := io.ReadAll(in)
	require.NoError(t, errors.Join(err, in.Close()))
	require.Equal(t, "old", string(content))
}

func BenchmarkPutSmallRuns(b *testing.B) {
	a := openFolder(b, b.TempDir())
	copies := make([]*world.RunCopy, 500)
	for i := range copies {
		copies[i] = archivetest.SixEvents(archivetest.RunID(archivetest.At, i))
	}
	for b.Loop() {
		require.NoError(b, a.PutRuns(b.Context(), copies))
	}
	b.ReportMetric(float64(b.N*len(copies))/b.Elapsed().Seconds(), "runs/s")
}
