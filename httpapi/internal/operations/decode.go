package operations

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
)

// nothing is what an operation without parameters is called with, and the answer {}.
type nothing struct{}

func decodeNothing(*input.Request) (nothing, error) { return nothing{}, nil }

// entityRef names one entity. runID is empty where the path does not say it.
type entityRef struct {
	runID, id string
	none      bool // without its payloads
}

// decodeOne reads a path that names one entity in the parameter of that name.
func decodeOne(name string) func(*input.Request) (entityRef, error) {
	return func(r *input.Request) (entityRef, error) {
		ref := entityRef{runID: r.PathID("runId"), id: r.PathID(name), none: r.ResolveNone()}
		return ref, r.Err
	}
}

// decodeID reads a path that names one thing that has no payloads to leave out.
func decodeID(name string) func(*input.Request) (string, error) {
	return func(r *input.Request) (string, error) {
		id := r.PathID(name)
		return id, r.Err
	}
}

// decodePage reads a list that has no parameters of its own.
func decodePage(r *input.Request) (world.PageRequest, error) {
	page, _ := r.Page(), r.ResolveNone()
	return page, r.Err
}
