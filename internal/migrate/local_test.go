package migrate

import (
	"archive/zip"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/redistest"
	"github.com/world-redis/world-redis/internal/worldtest"
	"github.com/world-redis/world-redis/storage"
	"github.com/world-redis/world-redis/streaming"
)

// unpack writes a folder that the SDK's local World has made.
func unpack(t *testing.T, name string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	packed, err := zip.OpenReader(filepath.Join("testdata", name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = packed.Close() })
	require.NoError(t, os.CopyFS(folder, packed))
	return folder
}

// imports writes all runs of a source, and returns them by the last part of their workflow's name.
func imports(t *testing.T, source Source, store *storage.Store, streams *streaming.Service) map[string][]world.Run {
	t.Helper()
	runs := map[string][]world.Run{}
	for c, err := range source.Runs(t.Context()) {
		require.NoError(t, err)
		did, err := store.ImportRun(t.Context(), c, func(ctx context.Context) error { return streams.ImportStreams(ctx, c.Run.RunID, c.Parts) })
		require.NoError(t, err)
		require.Equal(t, world.RunImported, did)
		run, err := store.GetRun(t.Context(), c.Run.RunID, false)
		require.NoError(t, err)
		name := filepath.Base(run.WorkflowName)
		runs[name] = append(runs[name], run)
	}
	return runs
}

// The folders were made by the e2e apps with SDK 4.8.9 and 5.0.0-beta.55: eight runs, of which three wait for a sleep and for hooks.
func TestTheFolderOfTheLocalWorld(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]int{"world-local-4.4.1.zip": 3, "world-local-5.0.0-beta.46.zip": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, r *redistest.Redis) {
				source, err := OpenLocal(unpack(t, name))
				require.NoError(t, err)
				count, err := source.Count(t.Context())
				require.NoError(t, err)
				require.Equal(t, 8, count)
				store, err := storage.New(t.Context(), r.Client, storage.Config{Prefix: r.Prefix})
				require.NoError(t, err)
				streams, err := streaming.New(t.Context(), r.Client, streaming.Config{Prefix: r.Prefix})
				require.NoError(t, err)
				runs := imports(t, source, store, streams)

				sum := runs["addition"][0]
				require.Equal(t, world.RunCompleted, sum.Status)
				require.Equal(t, spec, sum.SpecVersion)
				require.Contains(t, string(sum.Output), "devl[3]")
				steps, err := store.ListSteps(t.Context(), world.StepQuery{RunID: sum.RunID})
				require.NoError(t, err)
				require.Len(t, steps.Data, 1)
				require.Equal(t, world.StepCompleted, steps.Data[0].Status)
				require.Equal(t, 1, steps.Data[0].Attempt)

				require.Equal(t, world.RunRunning, runs["naps"][0].Status)
				events, err := store.ListEvents(t.Context(), world.EventQuery{RunID: runs["naps"][0].RunID})
				require.NoError(t, err)
				require.Equal(t, world.EventWaitCreated, events.Data[2].Type)
				resumeAt := events.Data[2].Data.Get("resumeAt")
				require.Equal(t, byte(0x1b), resumeAt[0], "a time is a number of ms")

				hook, err := store.GetHookByToken(t.Context(), "tok-open", false)
				require.NoError(t, err)
				require.Equal(t, runs["hookwf"][0].RunID, hook.RunID)
				_, err = store.GetHookByToken(t.Context(), "tok-done", false)
				require.Equal(t, world.CodeHookNotFound, world.ErrorCode(err))

				names, err := streams.ListStreams(t.Context(), runs["streamer"][0].RunID, world.PageRequest{})
				require.NoError(t, err)
				require.Len(t, names.Data, 1)
				page, err := streams.ListChunks(t.Context(), names.Data[0], world.PageRequest{})
				require.NoError(t, err)
				require.Len(t, page.Data, 4)
				require.True(t, page.Done)
			})
		})
	}
}

// A file that cannot be read concerns its run alone, and the others follow.
func TestADamagedFileOfTheLocalWorld(t *testing.T) {
	t.Parallel()
	folder := unpack(t, "world-local-4.4.1.zip")
	entries, err := os.ReadDir(filepath.Join(folder, "runs"))
	require.NoError(t, err)
	damaged := entries[2].Name()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "runs", damaged), []byte(`{"runId":`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "runs", "wrun_x.vitest-0.json"), []byte("{}"), 0o600))
	source, err := OpenLocal(folder)
	require.NoError(t, err)
	whole := 0
	var broken *world.CopyError
	for _, err := range source.Runs(t.Context()) {
		if err == nil {
			whole++
			continue
		}
		require.ErrorAs(t, err, &broken)
	}
	require.Equal(t, 7, whole)
	require.Equal(t, damaged, broken.RunID+".json")
	require.ErrorContains(t, broken, damaged)
}

// A write changes the state of the source.
func TestTheLocalWorldIsBeingWritten(t *testing.T) {
	t.Parallel()
	folder := unpack(t, "world-local-5.0.0-beta.46.zip")
	source, err := OpenLocal(folder)
	require.NoError(t, err)
	before, err := source.State(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "events", "wrun_x-evnt_1.json"), nil, 0o600))
	after, err := source.State(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, before, after)
}

// The folder of anything else is refused.
func TestAnotherFolder(t *testing.T) {
	t.Parallel()
	_, err := OpenLocal(t.TempDir())
	require.ErrorContains(t, err, "is not a folder of @workflow/world-local")
}

// Times that go back are brought into order, and the start of a run has the time that its World shows.
func TestTimesOfALog(t *testing.T) {
	t.Parallel()
	parts := func(yield func(world.RunPart, error) bool) {
		for _, e := range []world.Event{
			{Type: world.EventRunCreated, CreatedAt: 20}, {Type: world.EventRunStarted, CreatedAt: 30}, {Type: world.EventStepCreated, CreatedAt: 25}, {Type: world.EventStepStarted, CreatedAt: 40},
		} {
			if !yield(world.RunPart{Event: &e}, nil) {
				return
			}
		}
	}
	var times []world.Millis
	for part, err := range adapted(10, parts) {
		require.NoError(t, err)
		times = append(times, part.Event.CreatedAt)
	}
	require.Equal(t, []world.Millis{10, 10, 25, 40}, times)
}

func TestEventData(t *testing.T) {
	t.Parallel()
	bytes := base64.StdEncoding.EncodeToString([]byte("abc"))
	fields, err := fieldsOf([]byte(`{"resumeAt":"2026-12-01T01:20:33.650Z","b":{"__type":"Uint8Array","data":"` + bytes + `"},"a":null}`))
	require.NoError(t, err)
	require.Equal(t, world.Fields{
		{Key: "resumeAt", Value: worldtest.Raw(t, int64(1_796_088_033_650))}, {Key: "b", Value: world.Raw("\x43abc")}, {Key: "a", Value: world.Raw("\xf6")},
	}, fields)
	for _, bad := range []string{`[]`, `{"resumeAt":"soon"}`, `{"a":`} {
		_, err := fieldsOf([]byte(bad))
		require.Error(t, err, bad)
	}
}
