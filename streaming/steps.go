package streaming

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// checkSteps refuses steps that the scripts could not tell apart.
func checkSteps(steps []world.StreamStep) error {
	for _, step := range steps {
		if step.ID == "" || strings.ContainsFunc(step.ID, unicode.IsSpace) || step.Attempt < 0 {
			return world.Errorf(world.CodeInvalid, "%q, attempt %d, is not a step", step.ID, step.Attempt)
		}
	}
	return nil
}

// stepList encodes steps for the scripts: "<attempt> <step>", separated by spaces.
func stepList(steps []world.StreamStep) string {
	texts := make([]string, len(steps))
	for i, step := range steps {
		texts[i] = fmt.Sprintf("%d %s", step.Attempt, step.ID)
	}
	return strings.Join(texts, " ")
}

// noneGone means to chunk_append: the steps that closed the stream are not known to be gone.
const noneGone = ""

// closedByGone returns the steps that closed a stream, as stored in its state, if none of them is in a log any more:
// a Redis that failed over has lost them. The replayed runs execute them again under other ids, and those steps have
// to write. It returns noneGone if a step of any run may be the one that closed the stream.
func (s *Service) closedByGone(ctx context.Context, a world.Append) (string, error) {
	if s.config.Steps == nil || len(a.Steps) == 0 {
		return noneGone, nil
	}
	by, err := s.client.HGet(ctx, s.keys(a.Name).meta, "by").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return noneGone, redisError(ctx, err)
	}
	list, isClose := strings.CutPrefix(by, "c ")
	if !isClose {
		return noneGone, nil
	}
	// "<attempt> <step> …". A step belongs to the run that writes, to the run in the stream's name, or to another run
	// that received the stream. Only the step's id can find the last one: "".
	runs := []string{a.RunID, ""}
	if owner := ownerOf(a.Name); !slices.Contains(runs, owner) {
		runs = append(runs, owner)
	}
	refs := []world.StepRef{{RunID: a.RunID, StepID: a.Steps[0].ID}}
	for i, step := range strings.Fields(list) {
		for _, run := range runs {
			if i%2 == 1 {
				refs = append(refs, world.StepRef{RunID: run, StepID: step})
			}
		}
	}
	found, err := s.config.Steps.FindSteps(ctx, refs)
	if err != nil {
		return noneGone, err
	}
	if found[0].Run == "" { // its log does not exist, so it proves nothing
		return noneGone, nil
	}
	for _, f := range found[1:] {
		if f.Step {
			return noneGone, nil
		}
	}
	return by, nil
}
