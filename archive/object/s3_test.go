package object

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
)

// fakeS3 is a server with one bucket, "runs".
func fakeS3(tb testing.TB) (host string, backend *s3mem.Backend) {
	tb.Helper()
	backend = s3mem.New()
	require.NoError(tb, backend.CreateBucket("runs"))
	server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	tb.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), backend
}

func openS3(tb testing.TB, host, place string) *Archive {
	tb.Helper()
	a, err := OpenS3("s3://key:secret@"+place+"?region=us-east-1&endpoint=http://"+host, Options{Folder: "workflow"})
	require.NoError(tb, err)
	tb.Cleanup(a.bucket.(*s3).idle) //nolint:forcetypeassert // OpenS3 made it
	return a
}

func TestABucketKeepsTheContract(t *testing.T) {
	t.Parallel()
	host, _ := fakeS3(t)
	var n atomic.Int64
	archivetest.Test(t, archivetest.Subject{New: func(tb testing.TB) world.Archive {
		return openS3(tb, host, "runs/test-"+string(rune('a'+n.Add(1))))
	}, ByTimeOnly: true})
}

// An object that does not fit into one part is stored in several, and nothing is stored if its copy breaks off.
func TestALargeObjectIsStoredInParts(t *testing.T) {
	t.Parallel()
	host, backend := fakeS3(t)
	a := openS3(t, host, "runs")
	c := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))
	small := c.Parts
	noise := make([]byte, 1<<20)
	for i := range noise { // that gzip cannot make much smaller
		noise[i] = byte(i*i>>7 ^ i*2654435761>>13)
	}
	broken := false
	c.Parts = func(yield func(world.RunPart, error) bool) {
		for p, err := range small {
			if !yield(p, err) {
				return
			}
		}
		if !yield(world.RunPart{Stream: &world.StreamCopy{Name: "s", Count: 64}}, nil) {
			return
		}
		for i := range int64(64) {
			noise[i]++
			if !yield(world.RunPart{Chunk: &world.Chunk{Index: i, Data: noise}}, nil) {
				return
			}
		}
		if broken {
			yield(world.RunPart{}, &world.CopyError{RunID: c.Run.RunID, Err: errStopped})
		}
	}
	broken = true
	require.ErrorIs(t, a.PutRuns(t.Context(), []*world.RunCopy{c}), errStopped)
	got, err := a.GetRuns(t.Context(), []string{c.Run.RunID}, false)
	require.NoError(t, err)
	require.Nil(t, got[0])
	broken = false
	require.NoError(t, a.PutRuns(t.Context(), []*world.RunCopy{c}))
	name, err := a.find(t.Context(), c.Run.RunID)
	require.NoError(t, err)
	head, err := backend.HeadObject("runs", name)
	require.NoError(t, err)
	require.Greater(t, head.Size, int64(partBytes), "the sample is too small to need parts")
	chunks := 0
	for part, err := range a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll}) {
		require.NoError(t, err)
		if part.Chunk != nil {
			require.Len(t, part.Chunk.Data, 1<<20)
			chunks++
		}
	}
	require.Equal(t, 64, chunks)
}

func TestFaultsOfABucketAreClear(t *testing.T) {
	t.Parallel()
	host, _ := fakeS3(t)
	require.NoError(t, openS3(t, host, "runs").Check(t.Context()))
	require.ErrorContains(t, openS3(t, host, "other").Check(t.Context()), "the bucket other of the archive does not exist")
	for address, sentence := range map[string]string{
		"s3:///x":                        "use s3://bucket/prefix",
		"s3://b?endpont=x":               `unknown parameter "endpont"`,
		"s3://b?endpoint=https://h/path": "cannot be used",
	} {
		_, err := OpenS3(address, Options{})
		require.ErrorContains(t, err, sentence)
	}
}
