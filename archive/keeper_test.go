package archive

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
)

// fakeRuns copies samples; a few at a time, as a store does with large runs.
type fakeRuns struct {
	runs   map[string]*world.RunCopy
	atOnce int
	err    error
}

func (f *fakeRuns) CopyRuns(_ context.Context, runIDs []string) ([]*world.RunCopy, error) {
	var out []*world.RunCopy
	for _, runID := range runIDs[:min(len(runIDs), f.atOnce)] {
		out = append(out, f.runs[runID])
	}
	return out, f.err
}

func samples(n int) (*fakeRuns, []string) {
	f := &fakeRuns{runs: map[string]*world.RunCopy{}, atOnce: 3}
	var runIDs []string
	for i := range n {
		c := archivetest.SixEvents(archivetest.RunID(archivetest.At, i))
		f.runs[c.Run.RunID] = c
		runIDs = append(runIDs, c.Run.RunID)
	}
	return f, runIDs
}

// failing is an archive that refuses runs while err is set.
type failing struct {
	world.Archive
	err  error
	puts []int // how many runs each call had
}

func (f *failing) PutRuns(ctx context.Context, copies []*world.RunCopy) error {
	if f.err != nil {
		return f.err
	}
	f.puts = append(f.puts, len(copies))
	return f.Archive.PutRuns(ctx, copies)
}

func newKeeper(t *testing.T, runs world.RunCopier) (*Keeper, *failing, *bytes.Buffer) {
	t.Helper()
	a, err := Open(t.Context(), "file://"+t.TempDir(), Options{Namespace: "workflow:"})
	require.NoError(t, err)
	f, log := &failing{Archive: a}, &bytes.Buffer{}
	return &Keeper{Archive: f, Copies: runs, Logger: slog.New(slog.NewTextHandler(log, nil))}, f, log
}

func TestKeptRunsAreInTheArchive(t *testing.T) {
	t.Parallel()
	runs, runIDs := samples(8)
	runs.runs[runIDs[1]].Events = largeRun
	k, a, log := newKeeper(t, runs)
	safe, err := k.Keep(t.Context(), append(runIDs, "wrun_gone"))
	require.NoError(t, err)
	require.ElementsMatch(t, append(runIDs, "wrun_gone"), safe)
	got, err := a.GetRuns(t.Context(), runIDs, false)
	require.NoError(t, err)
	for i, run := range got {
		require.Equal(t, runs.runs[runIDs[i]].Run, *run)
	}
	require.Equal(t, []int{1, 2, 3, 2}, a.puts, "a large run is stored by itself")
	require.Equal(t, int64(8), k.Stored())
	require.Empty(t, log.String())
}

// A run that cannot be copied stays, is named once, and does not hinder others.
func TestADamagedRunDoesNotHinderOthers(t *testing.T) {
	t.Parallel()
	runs, runIDs := samples(3)
	runs.runs[runIDs[1]].Parts = func(yield func(world.RunPart, error) bool) {
		yield(world.RunPart{}, &world.CopyError{RunID: runIDs[1], Err: errors.New("an event is gone")})
	}
	k, _, log := newKeeper(t, runs)
	for range 2 {
		safe, err := k.Keep(t.Context(), runIDs)
		require.NoError(t, err)
		require.Equal(t, []string{runIDs[0], runIDs[2]}, safe)
	}
	require.Equal(t, 1, strings.Count(log.String(), "cannot be copied"))
	require.Contains(t, log.String(), runIDs[1])
	require.Equal(t, int64(2), k.Damaged())
}

// While the archive or Redis is down, nothing is safe.
func TestNothingIsSafeWhileTheArchiveIsDown(t *testing.T) {
	t.Parallel()
	runs, runIDs := samples(2)
	k, a, _ := newKeeper(t, runs)
	a.err = errors.New("no answer")
	safe, err := k.Keep(t.Context(), runIDs)
	require.ErrorIs(t, err, a.err)
	require.Empty(t, safe)
	a.err = nil
	safe, err = k.Keep(t.Context(), runIDs)
	require.NoError(t, err)
	require.Equal(t, runIDs, safe)
	runs.err = errors.New("Redis is away")
	_, err = k.Keep(t.Context(), runIDs)
	require.ErrorIs(t, err, runs.err)
}

// Streams follow the other parts of their run.
func TestCopiesHaveTheirStreams(t *testing.T) {
	t.Parallel()
	runs, runIDs := samples(2)
	stream := func(yield func(world.RunPart, error) bool) {
		yield(world.RunPart{Stream: &world.StreamCopy{Name: "s"}}, nil)
	}
	w := WithStreams{Runs: runs, CopyStreams: func(_ context.Context, ids []string) ([]iter.Seq2[world.RunPart, error], error) {
		require.Equal(t, runIDs, ids)
		return []iter.Seq2[world.RunPart, error]{nil, stream}, nil
	}}
	copies, err := w.CopyRuns(t.Context(), runIDs)
	require.NoError(t, err)
	require.Len(t, archivetest.All(t, copies[0].Parts), 7)
	last := archivetest.All(t, copies[1].Parts)
	require.Equal(t, "s", last[7].Stream.Name)
	for _, err := range copies[1].Parts {
		require.NoError(t, err)
		break // ends both
	}
	require.False(t, slices.ContainsFunc(archivetest.All(t, copies[0].Parts), func(p world.RunPart) bool { return p.Stream != nil }))
}

func TestOpenKnowsTheKindsOfArchives(t *testing.T) {
	t.Parallel()
	for address, sentence := range map[string]string{
		"ftp://x":    `an archive of the kind "ftp" is not known`,
		"file://h/x": "use file:///folder",
		"s3://":      "use s3://bucket/prefix",
	} {
		_, err := Open(t.Context(), address, Options{})
		require.ErrorContains(t, err, sentence)
	}
	for namespace, folder := range map[string]string{"workflow:": "workflow", "workflow:ns:a:": "workflow.ns.a", "a/../b": "a=2f=2e=2e=2fb", "::": "="} {
		require.Equal(t, folder, folderOf(namespace))
	}
}
