package archivetest

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// Subject is an archive that is tested.
type Subject struct {
	// New returns an empty archive. It is closed by the test.
	New func(tb testing.TB) world.Archive
	// ByTimeOnly is set for an archive that lists runs by time only, and finds neither steps nor streams.
	ByTimeOnly bool
}

// Test runs all tests.
func Test(t *testing.T, s Subject) {
	for name, test := range map[string]func(*testing.T, world.Archive){
		"a run comes back as it was put":         testAllComesBack,
		"what is not there is no error":          testNothingThere,
		"a copy replaces the one before":         testReplaced,
		"removed runs are gone":                  testRemoved,
		"a copy that breaks off stores nothing":  testBrokenOff,
		"a run that has not ended is refused":    testNotEnded,
		"events are read from a place":           testEventsFrom,
		"a large run is read in parts":           testLarge,
		"runs are listed by time and id":         testListByTime,
		"an iteration may be ended at any part":  testStoppedEarly,
		"without payloads nothing else is gone":  testResolveNone,
		"puts of the same run may be concurrent": testConcurrentPuts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, s))
		})
	}
	if s.ByTimeOnly {
		return
	}
	for name, test := range map[string]func(*testing.T, world.Archive){
		"runs are listed by name and status": testListFiltered,
		"steps and streams are found":        testFind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, s))
		})
	}
}

func open(t *testing.T, s Subject) world.Archive {
	t.Helper()
	a := s.New(t)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	require.NoError(t, a.Check(t.Context()))
	return a
}

// All returns parts as a slice, with their memory their own.
func All(t *testing.T, parts iter.Seq2[world.RunPart, error]) []world.RunPart {
	t.Helper()
	out := []world.RunPart{}
	for p, err := range parts {
		require.NoError(t, err)
		if p.Chunk != nil {
			p.Chunk = &world.Chunk{Index: p.Chunk.Index, Data: append([]byte{}, p.Chunk.Data...)}
		}
		out = append(out, p)
	}
	return out
}

func put(t *testing.T, a world.Archive, copies ...*world.RunCopy) {
	t.Helper()
	require.NoError(t, a.PutRuns(t.Context(), copies))
}

func get(t *testing.T, a world.Archive, resolveNone bool, ids ...string) []*world.Run {
	t.Helper()
	got, err := a.GetRuns(t.Context(), ids, resolveNone)
	require.NoError(t, err)
	require.Len(t, got, len(ids))
	return got
}

func testAllComesBack(t *testing.T, a world.Archive) {
	one, two := full(RunID(At, 1)), SixEvents(RunID(At, 2))
	put(t, a, one, two)
	for _, c := range []*world.RunCopy{one, two} {
		require.Equal(t, c.Run, *get(t, a, false, c.Run.RunID)[0])
		want := All(t, c.Parts)
		require.Equal(t, want, All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll})))
		for kind, is := range map[world.PartKind]func(world.RunPart) bool{
			world.PartEvents:  func(p world.RunPart) bool { return p.Event != nil },
			world.PartSteps:   func(p world.RunPart) bool { return p.Step != nil },
			world.PartStreams: func(p world.RunPart) bool { return p.Stream != nil },
		} {
			require.Equal(t, only(want, is), All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: kind})), kind)
		}
	}
	require.Equal(t, []string{two.Run.RunID, one.Run.RunID}, []string{get(t, a, true, two.Run.RunID, one.Run.RunID)[0].RunID, get(t, a, true, two.Run.RunID, one.Run.RunID)[1].RunID})

	all := All(t, one.Parts)
	last := len(all) - 2
	stream := all[last].Stream.Name
	require.Equal(t, all[last:], All(t, a.Parts(t.Context(), one.Run.RunID, world.ArchivedParts{Kind: world.PartChunks, Stream: stream})))
	first := slices.IndexFunc(all, func(p world.RunPart) bool { return p.Stream != nil })
	require.Equal(t, []world.RunPart{all[first], all[first+2], all[first+3]},
		All(t, a.Parts(t.Context(), one.Run.RunID, world.ArchivedParts{Kind: world.PartChunks, Stream: all[first].Stream.Name, From: 1})))
}

func only(parts []world.RunPart, is func(world.RunPart) bool) []world.RunPart {
	out := []world.RunPart{}
	for _, p := range parts {
		if is(p) {
			out = append(out, p)
		}
	}
	return out
}

func testNothingThere(t *testing.T, a world.Archive) {
	ctx := t.Context()
	require.NoError(t, a.PutRuns(ctx, nil))
	require.NoError(t, a.DeleteRuns(ctx, nil))
	require.NoError(t, a.DeleteRuns(ctx, []string{RunID(At, 1)}))
	require.Equal(t, []*world.Run{nil, nil}, get(t, a, false, RunID(At, 1), "no id: \x00"))
	for _, kind := range []world.PartKind{world.PartAll, world.PartEvents, world.PartSteps, world.PartStreams, world.PartChunks} {
		require.Empty(t, All(t, a.Parts(ctx, RunID(At, 1), world.ArchivedParts{Kind: kind, Stream: "s"})))
	}
	runs, more, err := a.ListRuns(ctx, world.ArchivedRuns{Order: world.Descending, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, runs)
	require.False(t, more)
	for _, find := range []func(context.Context, string) (string, error){a.FindStep, a.FindStream} {
		runID, err := find(ctx, "x")
		require.NoError(t, err)
		require.Empty(t, runID)
	}
	put(t, a, full(RunID(At, 1)))
	require.Empty(t, All(t, a.Parts(ctx, RunID(At, 1), world.ArchivedParts{Kind: world.PartChunks, Stream: "s"})))
}

func testReplaced(t *testing.T, a world.Archive) {
	id := RunID(At, 1)
	put(t, a, full(id))
	again := SixEvents(id)
	put(t, a, again)
	require.Equal(t, again.Run, *get(t, a, false, id)[0])
	require.Equal(t, All(t, again.Parts), All(t, a.Parts(t.Context(), id, world.ArchivedParts{Kind: world.PartAll})))
	runs, more, err := a.ListRuns(t.Context(), world.ArchivedRuns{Order: world.Ascending, Limit: 10})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.False(t, more)
}

func testRemoved(t *testing.T, a world.Archive) {
	one, two, three := full(RunID(At, 1)), SixEvents(RunID(At, 2)), SixEvents(RunID(At, 3))
	put(t, a, one, two, three)
	require.NoError(t, a.DeleteRuns(t.Context(), []string{one.Run.RunID, two.Run.RunID, "wrun_other"}))
	require.NoError(t, a.DeleteRuns(t.Context(), []string{one.Run.RunID}))
	got := get(t, a, false, one.Run.RunID, two.Run.RunID, three.Run.RunID)
	require.Nil(t, got[0])
	require.Nil(t, got[1])
	require.Equal(t, three.Run, *got[2])
	require.Empty(t, All(t, a.Parts(t.Context(), one.Run.RunID, world.ArchivedParts{Kind: world.PartAll})))
	runs, _, err := a.ListRuns(t.Context(), world.ArchivedRuns{Order: world.Descending, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []world.Run{three.Run}, runs)
	put(t, a, one)
	require.Equal(t, All(t, one.Parts), All(t, a.Parts(t.Context(), one.Run.RunID, world.ArchivedParts{Kind: world.PartAll})))
}

func testBrokenOff(t *testing.T, a world.Archive) {
	id := RunID(At, 1)
	whole := full(id)
	broken := errors.New("the copy cannot be read")
	cut := &world.RunCopy{Run: whole.Run, Events: whole.Events, Parts: func(yield func(world.RunPart, error) bool) {
		for p, err := range whole.Parts {
			require.NoError(t, err)
			if p.Chunk != nil {
				yield(world.RunPart{}, &world.CopyError{RunID: whole.Run.RunID, Err: broken})
				return
			}
			if !yield(p, nil) {
				return
			}
		}
	}}
	err := a.PutRuns(t.Context(), []*world.RunCopy{SixEvents(RunID(At, 2)), cut})
	require.ErrorIs(t, err, broken)
	var named *world.CopyError
	require.ErrorAs(t, err, &named)
	require.Equal(t, id, named.RunID)
	require.Nil(t, get(t, a, false, id)[0])
	before := SixEvents(id)
	put(t, a, before)
	require.ErrorIs(t, a.PutRuns(t.Context(), []*world.RunCopy{cut}), broken)
	require.Equal(t, before.Run, *get(t, a, false, id)[0])
	require.Equal(t, All(t, before.Parts), All(t, a.Parts(t.Context(), id, world.ArchivedParts{Kind: world.PartAll})))
	put(t, a, whole)
	require.Equal(t, All(t, whole.Parts), All(t, a.Parts(t.Context(), id, world.ArchivedParts{Kind: world.PartAll})))
}

func testNotEnded(t *testing.T, a world.Archive) {
	c := SixEvents(RunID(At, 1))
	c.Run.Status = world.RunRunning
	require.ErrorContains(t, a.PutRuns(t.Context(), []*world.RunCopy{c}), c.Run.RunID)
	require.Nil(t, get(t, a, false, c.Run.RunID)[0])
}

func testEventsFrom(t *testing.T, a world.Archive) {
	c := SixEvents(RunID(At, 1))
	put(t, a, c)
	events := only(All(t, c.Parts), func(p world.RunPart) bool { return p.Event != nil })
	backwards := slices.Clone(events)
	slices.Reverse(backwards)
	for from := range int64(8) {
		at := min(from, 6)
		require.Equal(t, events[at:], All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartEvents, From: from})), from)
		want := backwards[max(0, 5-from):]
		require.Equal(t, want, All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartEvents, From: from, Backwards: true})), from)
	}
	require.Equal(t, backwards, All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartEvents, From: math.MaxInt64, Backwards: true})))

	f := full(RunID(At, 2))
	put(t, a, f)
	steps := only(All(t, f.Parts), func(p world.RunPart) bool { return p.Step != nil })
	slices.Reverse(steps)
	require.Equal(t, steps, All(t, a.Parts(t.Context(), f.Run.RunID, world.ArchivedParts{Kind: world.PartSteps, Backwards: true})))
}

func testLarge(t *testing.T, a world.Archive) {
	c := large(RunID(At, 1), 1200, 50)
	put(t, a, c)
	want := All(t, c.Parts)
	require.Equal(t, want, All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll})))
	events := want[:1200]
	backwards := slices.Clone(events)
	slices.Reverse(backwards)
	require.Equal(t, backwards, All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartEvents, From: math.MaxInt64, Backwards: true})))
	require.Equal(t, events[700:], All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartEvents, From: 700})))
	chunks := want[2400:]
	require.Equal(t, append(slices.Clone(chunks[:1]), chunks[41:]...),
		All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartChunks, Stream: "large-" + c.Run.RunID, From: 40})))
}

func testStoppedEarly(t *testing.T, a world.Archive) {
	c := full(RunID(At, 1))
	put(t, a, c)
	want := All(t, c.Parts)
	for n := range want {
		var got []world.RunPart
		for p, err := range a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll}) {
			require.NoError(t, err)
			if got = append(got, p); len(got) > n {
				break
			}
		}
		require.Equal(t, want[:n+1], got)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var failed error
	for _, err := range a.Parts(cancelled, c.Run.RunID, world.ArchivedParts{Kind: world.PartAll}) {
		failed = err
	}
	require.Error(t, failed)
}

func testResolveNone(t *testing.T, a world.Archive) {
	c := full(RunID(At, 1))
	put(t, a, c)
	run := c.Run
	run.Input, run.Output = nil, nil
	require.Equal(t, run, *get(t, a, true, run.RunID)[0])
	runs, _, err := a.ListRuns(t.Context(), world.ArchivedRuns{Order: world.Ascending, Limit: 1, ResolveNone: true})
	require.NoError(t, err)
	require.Equal(t, []world.Run{run}, runs)
	var want []world.RunPart
	for _, p := range All(t, c.Parts) {
		if p.Event == nil {
			continue
		}
		e := *p.Event
		if key := e.Type.PayloadKey(); key != "" && e.Data.Has(key) {
			if e.Data = e.Data.Without(key); len(e.Data) == 0 {
				e.Data = nil
			}
		}
		want = append(want, world.RunPart{Event: &e})
	}
	require.Equal(t, want, All(t, a.Parts(t.Context(), run.RunID, world.ArchivedParts{Kind: world.PartEvents, ResolveNone: true})))
	for _, p := range All(t, a.Parts(t.Context(), run.RunID, world.ArchivedParts{Kind: world.PartSteps, ResolveNone: true})) {
		require.Nil(t, p.Step.Input)
		require.Nil(t, p.Step.Output)
	}
}

func testConcurrentPuts(t *testing.T, a world.Archive) {
	const writers = 4
	runIDs := make([]string, 10)
	for i := range runIDs {
		runIDs[i] = RunID(At, i)
	}
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			copies := make([]*world.RunCopy, len(runIDs))
			for i := range runIDs {
				copies[i] = SixEvents(runIDs[(i+w)%len(runIDs)])
			}
			done <- a.PutRuns(context.Background(), copies)
		}()
	}
	for range writers {
		require.NoError(t, <-done)
	}
	for _, id := range runIDs {
		require.Equal(t, All(t, SixEvents(id).Parts), All(t, a.Parts(t.Context(), id, world.ArchivedParts{Kind: world.PartAll})))
	}
	require.Equal(t, runIDs, list(t, a, world.ArchivedRuns{Order: world.Ascending, Limit: 3}))
}

func testFind(t *testing.T, a world.Archive) {
	one, two := full(RunID(At, 1)), full(RunID(At, 2))
	put(t, a, one, two)
	for _, c := range []*world.RunCopy{one, two} {
		for p, err := range c.Parts {
			require.NoError(t, err)
			var runID string
			switch {
			case p.Step != nil:
				runID, err = a.FindStep(t.Context(), p.Step.StepID)
			case p.Stream != nil:
				runID, err = a.FindStream(t.Context(), p.Stream.Name)
			default:
				continue
			}
			require.NoError(t, err)
			require.Equal(t, c.Run.RunID, runID)
		}
	}
	require.NoError(t, a.DeleteRuns(t.Context(), []string{one.Run.RunID}))
	runID, err := a.FindStep(t.Context(), "step_1"+one.Run.RunID)
	require.NoError(t, err)
	require.Empty(t, runID)
}
