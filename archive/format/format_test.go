package format_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
	"github.com/world-redis/world-redis/archive/format"
)

var header = format.Header{Service: "1.2.3", CopiedAt: archivetest.At}

func encode(t testing.TB, copies ...*world.RunCopy) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, c := range copies {
		require.NoError(t, format.Write(&out, header, c))
	}
	return out.Bytes()
}

// whole is a run that was read.
type whole struct {
	run   world.Run
	parts []world.RunPart
}

func decode(file []byte) (runs []whole, offsets []int64, err error) {
	r := format.NewReader(bytes.NewReader(file), "runs.wra")
	for {
		_, run, err := r.Next()
		if errors.Is(err, io.EOF) {
			return runs, offsets, nil
		}
		if err != nil {
			return runs, offsets, err
		}
		read := whole{run: run}
		for {
			part, err := r.Part()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return runs, offsets, err
			}
			read.parts = append(read.parts, part)
		}
		runs, offsets = append(runs, read), append(offsets, r.Offset())
	}
}

func sample() *world.RunCopy {
	c := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))
	parts := []world.RunPart{}
	for p, err := range c.Parts {
		if err != nil {
			panic(err) // the sample has none
		}
		parts = append(parts, p)
	}
	parts = append(parts,
		world.RunPart{Event: &world.Event{EventID: "e", Type: world.EventNoop, Data: world.Fields{}}},
		world.RunPart{Hook: &world.HookCopy{Position: -1, Hook: world.Hook{HookID: "h", Token: "\x00\xff", IsWebhook: true, Metadata: archivetest.CBOR("m"), TokenRetentionUntil: 9}}},
		world.RunPart{Stream: &world.StreamCopy{Name: "s", Count: 3, Ends: []int64{1, 3}}},
		world.RunPart{Chunk: &world.Chunk{Index: 0, Data: []byte{}}},
		world.RunPart{Chunk: &world.Chunk{Index: 2, Data: []byte("chunk")}},
	)
	return archivetest.Copy(c.Run, parts...)
}

func TestRunsComeBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	one, two := sample(), archivetest.Copy(archivetest.Run("own:id"))
	file := encode(t, one, two)
	runs, offsets, err := decode(file)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	for i, c := range []*world.RunCopy{one, two} {
		require.Equal(t, c.Run, runs[i].run)
		n := 0
		for part, err := range c.Parts {
			require.NoError(t, err)
			require.Equal(t, part, runs[i].parts[n])
			n++
		}
		require.Len(t, runs[i].parts, n)
	}
	// Each run can be read by itself, from where it begins.
	require.Equal(t, int64(len(file)), offsets[1])
	alone, _, err := decode(file[offsets[0]:])
	require.NoError(t, err)
	require.Equal(t, runs[1:], alone)

	// Parts that are not read are skipped.
	r := format.NewReader(bytes.NewReader(file), "runs.wra")
	h, first, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, format.Header{Version: 1, Service: "1.2.3", CopiedAt: archivetest.At}, h)
	require.Equal(t, one.Run, first)
	_, second, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, two.Run, second)
}

// A file that is cut anywhere, or has one wrong byte, is never taken for whole.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	file := encode(t, sample())
	want, _, err := decode(file)
	require.NoError(t, err)
	for n := 1; n < len(file); n++ {
		_, _, err := decode(file[:n])
		var damaged *format.DamagedError
		require.ErrorAs(t, err, &damaged, "%d bytes", n)
		require.Equal(t, "runs.wra", damaged.File)
		require.LessOrEqual(t, damaged.At, int64(n))
	}
	_, _, err = decode(file[:len(file)-3])
	require.EqualError(t, err, "runs.wra is damaged: the run that begins at byte 0 cannot be read beyond byte "+itoa(len(file)-3)+": it ends too early")
	for n := range file {
		bad := bytes.Clone(file)
		bad[n] ^= 0x10
		got, _, err := decode(bad)
		if err == nil { // a time or a name in the head of gzip
			require.Equal(t, want, got, "byte %d", n)
		}
	}
	_, _, err = decode(append(bytes.Clone(file), "more"...))
	require.ErrorContains(t, err, "the run that begins at byte "+itoa(len(file)))
	_, _, err = decode([]byte("no gzip at all"))
	require.ErrorContains(t, err, "runs.wra is damaged")
}

// A program that follows docs/archive.md alone reads the same.
func TestAnotherProgramReadsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.wra")
	require.NoError(t, os.WriteFile(path, encode(t, sample(), archivetest.Copy(archivetest.Run("own"))), 0o600))
	out, err := exec.CommandContext(t.Context(), "node", "read.mjs", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var kinds []string
	for line := range strings.Lines(string(out)) {
		kind, _, _ := strings.Cut(line, " ")
		kinds = append(kinds, kind)
	}
	require.Equal(t, strings.Fields("header run event event event event event event step event hook stream chunk chunk end header run end"), kinds)
	require.Contains(t, string(out), `"stepName":"add"`)
	require.Contains(t, string(out), `chunk {"index":2,"data":"<5 bytes>"}`)
}

// An error of the copy is returned as it is.
func TestACopyThatBreaksOffIsNoFile(t *testing.T) {
	t.Parallel()
	broken := &world.CopyError{RunID: "wrun_1", Err: errors.New("gone")}
	c := sample()
	all := c.Parts
	c.Parts = func(yield func(world.RunPart, error) bool) {
		for p, err := range all {
			if err == nil && p.Step != nil {
				yield(world.RunPart{}, broken)
				return
			}
			if !yield(p, err) {
				return
			}
		}
	}
	var out bytes.Buffer
	require.Equal(t, error(broken), format.Write(&out, header, c))
	_, _, err := decode(out.Bytes())
	if out.Len() > 0 {
		require.Error(t, err)
	}
}
