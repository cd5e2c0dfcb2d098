package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/format"
	"github.com/world-redis/world-redis/internal/ids"
)

// Options say who uses an archive.
type Options struct {
	Folder  string      // within the archive, of one namespace
	Service string      // version of the service, for the headers of the objects
	Clock   world.Clock // default: the machine's clock
}

// Archive is a world.Archive in a folder or in a bucket of S3.
type Archive struct {
	bucket  bucket
	options Options
}

var _ world.Archive = (*Archive)(nil)

// readsAtOnce is how many objects are opened at a time.
const readsAtOnce = 16

func newArchive(b bucket, o Options) *Archive {
	if o.Clock == nil {
		o.Clock = world.SystemClock{}
	}
	return &Archive{bucket: b, options: o}
}

func (a *Archive) name(object string) string {
	if a.options.Folder == "" {
		return object
	}
	return a.options.Folder + "/" + object
}

// PutRuns implements world.Archive.
func (a *Archive) PutRuns(ctx context.Context, copies []*world.RunCopy) error {
	objects := make([]object, len(copies))
	for i, c := range copies {
		if !c.Run.Status.Terminal() {
			if err := brokenOff(c); err != nil {
				return err
			}
			return fmt.Errorf("run %s is %q: only runs that have ended are archived", c.Run.RunID, c.Run.Status)
		}
		name, err := objectOf(c.Run)
		if err != nil {
			return &world.CopyError{RunID: c.Run.RunID, Err: err}
		}
		h := format.Header{Service: a.options.Service, CopiedAt: world.MillisOf(a.options.Clock.Now())}
		objects[i] = object{name: a.name(name), write: func(w io.Writer) error { return format.Write(w, h, c) }}
	}
	return a.bucket.put(ctx, objects)
}

// brokenOff returns the error of a copy that cannot be read, and so has no run.
func brokenOff(c *world.RunCopy) error {
	if c.Run.Status != "" {
		return nil
	}
	for _, err := range c.Parts {
		return err
	}
	return nil
}

// DeleteRuns implements world.Archive.
func (a *Archive) DeleteRuns(ctx context.Context, runIDs []string) error {
	for _, runID := range runIDs {
		name, err := a.find(ctx, runID)
		if errors.Is(err, errNoObject) {
			continue
		}
		if err != nil {
			return err
		}
		if err := a.bucket.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// find returns the name of the object of a run, or errNoObject.
func (a *Archive) find(ctx context.Context, runID string) (string, error) {
	if ms, ok := ids.Time("wrun_", runID); ok {
		return a.name(hourOf(ms) + "/" + runID + suffix), nil
	}
	if !world.ValidID(runID) || len(runID) > maxOwnID {
		return "", errNoObject
	}
	_, objects, err := a.bucket.list(ctx, a.name(ownFolder(runID)))
	if err != nil {
		return "", err
	}
	if len(objects) == 0 {
		return "", errNoObject
	}
	return a.name(ownFolder(runID) + "/" + objects[0]), nil
}

// reading is an object that is being read.
type reading struct {
	*format.Reader
	io.Closer
	run world.Run
}

// read opens the object of a run, or returns errNoObject.
func (a *Archive) read(ctx context.Context, runID string) (*reading, error) {
	name, err := a.find(ctx, runID)
	if err != nil {
		return nil, err
	}
	return a.readObject(ctx, name)
}

func (a *Archive) readObject(ctx context.Context, name string) (*reading, error) {
	in, err := a.bucket.open(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &reading{Reader: format.NewReader(in, "the "+a.bucket.where(name)), Closer: in}
	_, r.run, err = r.Next()
	if err != nil {
		_ = in.Close() // nothing was written
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the %s is empty", a.bucket.where(name))
		}
		return nil, err
	}
	return r, nil
}

// GetRuns implements world.Archive.
func (a *Archive) GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*world.Run, error) {
	out := make([]*world.Run, len(runIDs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for i, runID := range runIDs {
		g.Go(func() error {
			r, err := a.read(ctx, runID)
			if errors.Is(err, errNoObject) {
				return nil
			}
			if err != nil {
				return err
			}
			out[i] = shown(r.run, resolveNone)
			return r.Close()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

func shown(run world.Run, resolveNone bool) *world.Run {
	if resolveNone {
		run.Input, run.Output = nil, nil
	}
	return &run
}

// FindStep implements world.Archive: no object is named after a step.
func (a *Archive) FindStep(context.Context, string) (string, error) { return "", nil }

// FindStream implements world.Archive. The name of a stream usually has the id of its run; the run may not be in the archive.
func (a *Archive) FindStream(ctx context.Context, name string) (string, error) {
	runID := ids.StreamOwner(name)
	if runID == "" {
		return "", nil
	}
	r, err := a.read(ctx, runID)
	if errors.Is(err, errNoObject) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return runID, r.Close()
}

// checkFor limits Check.
const checkFor = 15 * time.Second

// Check implements world.Archive.
func (a *Archive) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	return a.bucket.check(ctx)
}

// Close implements world.Archive.
func (a *Archive) Close() error { return a.bucket.close() }
