package httpapi

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/world-redis/world-redis"
)

// The fakes answer with the function that a test has set. A method without one fails the test: this is how all tests
// assert that nothing reached the store.

type fakes struct {
	t       *testing.T
	store   fakeStore
	queue   fakeQueue
	apps    fakeApps
	streams fakeStreams
	// warnings answers what is wrong with an app that registers; nil: nothing is asked.
	warnings func(world.App) []world.AppWarning
}

func newFakes(t *testing.T) *fakes {
	f := &fakes{t: t}
	f.store.t, f.queue.t, f.apps.t, f.streams.t = t, t, t, t
	f.store.fakeLegacy.t = t
	return f
}

func (f *fakes) deps() Deps {
	deps := Deps{Store: &f.store, Queue: &f.queue, Apps: &f.apps, Streams: &f.streams}
	if f.warnings != nil {
		deps.AppWarnings = func(_ context.Context, a world.App) []world.AppWarning { return f.warnings(a) }
	}
	return deps
}

func unexpected(t *testing.T, method string) error {
	t.Errorf("%s was called", method)
	return world.Errorf(world.CodeInternal, "unexpected call of %s", method)
}

type fakeStore struct {
	t              *testing.T
	getRun         func(ctx context.Context, runID string, none bool) (world.Run, error)
	listRuns       func(world.RunQuery) (world.Page[world.Run], error)
	getStep        func(runID, stepID string, none bool) (world.Step, error)
	listSteps      func(world.StepQuery) (world.Page[world.Step], error)
	getHook        func(hookID string, none bool) (world.Hook, error)
	getHookByToken func(token string, none bool) (world.Hook, error)
	listHooks      func(world.HookQuery) (world.Page[world.Hook], error)
	createEvent    func(world.CreateEvent) (world.EventResult, error)
	createBatch    func(world.CreateBatch) ([]world.BatchItem, error)
	getEvent       func(runID, eventID string, none bool) (world.Event, error)
	listEvents     func(world.EventQuery) (world.Page[world.Event], error)
	getRuns        func(runIDs []string, none bool) ([]*world.Run, error)
	awaitRun       func(ctx context.Context, runID string, wait time.Duration, none bool) (world.Run, error)
	cancelRuns     func(world.CancelRuns) ([]world.CancelResult, error)
	fakeLegacy
}

func (f *fakeStore) GetRun(ctx context.Context, runID string, none bool) (world.Run, error) {
	if f.getRun == nil {
		return world.Run{}, unexpected(f.t, "GetRun")
	}
	return f.getRun(ctx, runID, none)
}

func (f *fakeStore) GetRuns(_ context.Context, runIDs []string, none bool) ([]*world.Run, error) {
	if f.getRuns == nil {
		return nil, unexpected(f.t, "GetRuns")
	}
	return f.getRuns(runIDs, none)
}

func (f *fakeStore) AwaitRun(ctx context.Context, runID string, wait time.Duration, none bool) (world.Run, error) {
	if f.awaitRun == nil {
		return world.Run{}, unexpected(f.t, "AwaitRun")
	}
	return f.awaitRun(ctx, runID, wait, none)
}

func (f *fakeStore) CancelRuns(_ context.Context, req world.CancelRuns) ([]world.CancelResult, error) {
	if f.cancelRuns == nil {
		return nil, unexpected(f.t, "CancelRuns")
	}
	return f.cancelRuns(req)
}

func (f *fakeStore) ListRuns(_ context.Context, q world.RunQuery) (world.Page[world.Run], error) {
	if f.listRuns == nil {
		return world.Page[world.Run]{}, unexpected(f.t, "ListRuns")
	}
	return f.listRuns(q)
}

func (f *fakeStore) GetStep(_ context.Context, runID, stepID string, none bool) (world.Step, error) {
	if f.getStep == nil {
		return world.Step{}, unexpected(f.t, "GetStep")
	}
	return f.getStep(runID, stepID, none)
}

func (f *fakeStore) ListSteps(_ context.Context, q world.StepQuery) (world.Page[world.Step], error) {
	if f.listSteps == nil {
		return world.Page[world.Step]{}, unexpected(f.t, "ListSteps")
	}
	return f.listSteps(q)
}

func (f *fakeStore) GetHook(_ context.Context, hookID string, none bool) (world.Hook, error) {
	if f.getHook == nil {
		return world.Hook{}, unexpected(f.t, "GetHook")
	}
	return f.getHook(hookID, none)
}

func (f *fakeStore) GetHookByToken(_ context.Context, token string, none bool) (world.Hook, error) {
	if f.getHookByToken == nil {
		return world.Hook{}, unexpected(f.t, "GetHookByToken")
	}
	return f.getHookByToken(token, none)
}

func (f *fakeStore) ListHooks(_ context.Context, q world.HookQuery) (world.Page[world.Hook], error) {
	if f.listHooks == nil {
		return world.Page[world.Hook]{}, unexpected(f.t, "ListHooks")
	}
	return f.listHooks(q)
}

func (f *fakeStore) CreateEvent(_ context.Context, req world.CreateEvent) (world.EventResult, error) {
	if f.createEvent == nil {
		return world.EventResult{}, unexpected(f.t, "CreateEvent")
	}
	return f.createEvent(req)
}

func (f *fakeStore) CreateBatch(_ context.Context, req world.CreateBatch) ([]world.BatchItem, error) {
	if f.createBatch == nil {
		return nil, unexpected(f.t, "CreateBatch")
	}
	return f.createBatch(req)
}

func (f *fakeStore) GetEvent(_ context.Context, runID, eventID string, none bool) (world.Event, error) {
	if f.getEvent == nil {
		return world.Event{}, unexpected(f.t, "GetEvent")
	}
	return f.getEvent(runID, eventID, none)
}

func (f *fakeStore) ListEvents(_ context.Context, q world.EventQuery) (world.Page[world.Event], error) {
	if f.listEvents == nil {
		return world.Page[world.Event]{}, unexpected(f.t, "ListEvents")
	}
	return f.listEvents(q)
}

type fakeQueue struct {
	t       *testing.T
	enqueue func(world.Message) (string, error)
}

func (f *fakeQueue) Enqueue(_ context.Context, m world.Message) (string, error) {
	if f.enqueue == nil {
		return "", unexpected(f.t, "Enqueue")
	}
	return f.enqueue(m)
}

type fakeApps struct {
	t          *testing.T
	register   func(world.App) error
	unregister func(baseURL, deploymentID string) error
	list       func() ([]world.App, error)
}

func (f *fakeApps) RegisterApp(_ context.Context, a world.App) error {
	if f.register == nil {
		return unexpected(f.t, "RegisterApp")
	}
	return f.register(a)
}

func (f *fakeApps) UnregisterApp(_ context.Context, baseURL, deploymentID string) error {
	if f.unregister == nil {
		return unexpected(f.t, "UnregisterApp")
	}
	return f.unregister(baseURL, deploymentID)
}

func (f *fakeApps) ListApps(context.Context) ([]world.App, error) {
	if f.list == nil {
		return nil, unexpected(f.t, "ListApps")
	}
	return f.list()
}

type fakeStreams struct {
	t          *testing.T
	mu         sync.Mutex
	append     func(world.Append) (int64, error)
	close      func(world.StreamClose) error
	read       func(ctx context.Context, name string, start int64, sink world.ChunkSink) error
	listChunks func(name string, p world.PageRequest) (world.ChunkPage, error)
	info       func(name string, from int64) (world.StreamInfo, error)
	expected   []string // names of appends that were announced
	arrived    int      // how many of them have ended
	list       func(runID string, p world.PageRequest) (world.Page[string], error)
}

func (f *fakeStreams) AppendChunks(_ context.Context, a world.Append) (int64, error) {
	if f.append == nil {
		return 0, unexpected(f.t, "AppendChunks")
	}
	for i, chunk := range a.Chunks {
		a.Chunks[i] = bytes.Clone(chunk) // their memory is used again
	}
	return f.append(a)
}

func (f *fakeStreams) ExpectAppend(name string) (over func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = append(f.expected, name)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.arrived++
	}
}

func (f *fakeStreams) CloseStream(_ context.Context, c world.StreamClose) error {
	if f.close == nil {
		return unexpected(f.t, "CloseStream")
	}
	return f.close(c)
}

func (f *fakeStreams) ReadStream(ctx context.Context, name string, start int64, sink world.ChunkSink) error {
	if f.read == nil {
		return unexpected(f.t, "ReadStream")
	}
	return f.read(ctx, name, start, sink)
}

func (f *fakeStreams) ListChunks(_ context.Context, name string, p world.PageRequest) (world.ChunkPage, error) {
	if f.listChunks == nil {
		return world.ChunkPage{}, unexpected(f.t, "ListChunks")
	}
	return f.listChunks(name, p)
}

func (f *fakeStreams) StreamInfo(_ context.Context, name string, from int64) (world.StreamInfo, error) {
	if f.info == nil {
		return world.StreamInfo{}, unexpected(f.t, "StreamInfo")
	}
	return f.info(name, from)
}

func (f *fakeStreams) ListStreams(_ context.Context, runID string, p world.PageRequest) (world.Page[string], error) {
	if f.list == nil {
		return world.Page[string]{}, unexpected(f.t, "ListStreams")
	}
	return f.list(runID, p)
}

func (f *fakeStreams) ExpectPurge(context.Context, string) error {
	return unexpected(f.t, "ExpectPurge")
}

func (f *fakeStreams) PurgeRun(context.Context, string) error { return unexpected(f.t, "PurgeRun") }
