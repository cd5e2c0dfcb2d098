package migrate

import (
	"cmp"
	"context"
	"encoding/json"
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

// local is the folder of @workflow/world-local: one JSON file for each run, event and hook, and one file for each chunk.
//
//	runs/<run>.json                       the run
//	events/<run>-<event>.json             its log, in the order of the event ids
//	hooks/<hook>.json                     hooks that live
//	streams/runs/<run>.json               the names of its streams
//	streams/chunks/<stream>/<chunk>.bin   a byte that says whether it is the end, and the chunk (SDK v5)
//	streams/chunks/<stream>-<chunk>.bin   the same (SDK v4)
//
// Names with a tag before the extension belong to tests that share the folder, and are left out.
type local struct {
	folder string
	runs   []string            // ids, oldest first
	events map[string][]string // run id → ids of its events, in order
	hooks  map[string][]world.HookCopy
	chunks map[string][]string // stream → paths of its chunks, in order
}

// OpenLocal reads the names in a folder of @workflow/world-local. They are kept in memory, some 100 bytes for each event.
func OpenLocal(folder string) (Source, error) {
	l := &local{folder: folder, events: map[string][]string{}, hooks: map[string][]world.HookCopy{}, chunks: map[string][]string{}}
	runs, err := l.names("runs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a folder of @workflow/world-local: it has no folder runs", folder)
	}
	if err != nil {
		return nil, err
	}
	l.runs = runs
	events, err := l.names("events")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range events {
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			l.events[name[:at]] = append(l.events[name[:at]], name[at+1:])
		}
	}
	for _, ids := range l.events {
		// The prefix has changed with the SDK, and what follows it sorts.
		slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(afterPrefix(a), afterPrefix(b)) })
	}
	if err := l.readHooks(); err != nil {
		return nil, err
	}
	return l, l.findChunks()
}

func afterPrefix(id string) string { return id[strings.IndexByte(id, '_')+1:] }

// names returns the names of the JSON files of a folder, sorted, without their extension.
func (l *local) names(folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(l.folder, folder))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && !e.IsDir() && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	return names, nil
}

// read decodes a JSON file.
func (l *local) read(into any, parts ...string) error {
	path := filepath.Join(append([]string{l.folder}, parts...)...) + ".json"
	text, err := os.ReadFile(path) //nolint:gosec // a file of the folder that was named
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (l *local) readHooks() error {
	names, err := l.names("hooks")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		var h struct {
			RunID, HookID, Token, CreatedAt string
		}
		if err := l.read(&h, "hooks", name); err != nil {
			return err
		}
		created, err := parseMillis(h.CreatedAt)
		if err != nil {
			return fmt.Errorf("hook %s: %w", name, err)
		}
		l.hooks[h.RunID] = append(l.hooks[h.RunID], world.HookCopy{Hook: world.Hook{RunID: h.RunID, HookID: h.HookID, Token: h.Token, CreatedAt: created}})
	}
	return nil
}

// Count implements [Source].
func (l *local) Count(context.Context) (int, error) { return len(l.runs), nil }

// Close implements [Source].
func (l *local) Close() error { return nil }

// State implements [Source]. A new file changes the time of its folder; a run's file is written anew whenever the run changes.
func (l *local) State(context.Context) (string, error) {
	var state strings.Builder
	for _, folder := range []string{"runs", "events", "hooks", "steps", "waits", filepath.Join("streams", "runs")} {
		info, err := os.Stat(filepath.Join(l.folder, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(&state, "%s %d ", folder, info.ModTime().UnixNano())
	}
	for stream := range l.chunks {
		if info, err := os.Stat(filepath.Join(l.folder, "streams", "chunks", stream)); err == nil {
			_, _ = fmt.Fprintf(&state, "%d ", info.ModTime().UnixNano())
		}
	}
	return state.String(), nil
}

// Runs implements [Source].
func (l *local) Runs(ctx context.Context) iter.Seq2[*world.RunCopy, error] {
	return func(yield func(*world.RunCopy, error) bool) {
		for _, runID := range l.runs {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			c, err := l.copyRun(runID)
			if err != nil {
				err = &world.CopyError{RunID: runID, Err: err}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// localRun is a run's file, as far as an import needs it.
type localRun struct {
	RunID, DeploymentID, WorkflowName, Status, CreatedAt, StartedAt string
	SpecVersion                                                     int
}

func (l *local) copyRun(runID string) (*world.RunCopy, error) {
	var file localRun
	if err := l.read(&file, "runs", runID); err != nil {
		return nil, err
	}
	created, err := parseMillis(file.CreatedAt)
	if err != nil {
		return nil, err
	}
	started, err := parseMillis(file.StartedAt)
	if err != nil {
		return nil, err
	}
	if file.SpecVersion < 2 {
		return nil, errors.New("it is of an SDK from before event sourcing, whose log does not hold its state")
	}
	c := &world.RunCopy{
		Run: world.Run{
			RunID: runID, DeploymentID: file.DeploymentID, WorkflowName: file.WorkflowName, SpecVersion: file.SpecVersion, CreatedAt: created,
			Status: world.RunStatus(file.Status),
		},
		Events:  int64(len(l.events[runID])),
		Foreign: true,
		Parts:   adapted(started, l.parts(runID)),
	}
	return c, nil
}

// parts yields the events, hooks and streams of a run.
func (l *local) parts(runID string) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		for _, part := range []iter.Seq2[world.RunPart, error]{l.eventsOf(runID), l.hooksOf(runID), l.streamsOf(runID)} {
			for p, err := range part {
				if err != nil {
					yield(p, &world.CopyError{RunID: runID, Err: err})
					return
				}
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// localEvent is the file of an event.
type localEvent struct {
	EventType, CorrelationID, ResumeID, CreatedAt, OccurredAt string
	SpecVersion                                               int
	EventData                                                 json.RawMessage
}

func (l *local) eventsOf(runID string) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		for _, eventID := range l.events[runID] {
			e, err := l.event(runID, eventID)
			if !yield(world.RunPart{Event: e}, err) || err != nil {
				return
			}
		}
	}
}

func (l *local) event(runID, eventID string) (*world.Event, error) {
	var file localEvent
	if err := l.read(&file, "events", runID+"-"+eventID); err != nil {
		return nil, err
	}
	e := &world.Event{
		RunID: runID, EventID: eventID, Type: world.EventType(file.EventType), CorrelationID: file.CorrelationID, ResumeID: file.ResumeID,
		SpecVersion: file.SpecVersion,
	}
	var errs [3]error
	e.CreatedAt, errs[0] = parseMillis(file.CreatedAt)
	e.OccurredAt, errs[1] = parseMillis(file.OccurredAt)
	e.Data, errs[2] = fieldsOf(file.EventData)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("event %s: %w", eventID, err)
	}
	return e, nil
}

func (l *local) hooksOf(runID string) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		for _, h := range l.hooks[runID] {
			if !yield(world.RunPart{Hook: &h}, nil) {
				return
			}
		}
	}
}
