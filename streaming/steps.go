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
			return world.Errorf(world.CodeInvalid, "%q, attempt %d, is no step", step.ID, step.Attempt)
		}
	}
	return nil
}

// stepList is what the scripts take for steps: "<attempt> <step>", parted by spaces.
func stepList(steps []world.StreamStep) string {
	texts := make([]string, len(steps))
	for i, step := range steps {
		texts[i] = fmt.Sprintf("%d %s", step.Attempt, step.ID)
	}
	return strings.Join(texts, " ")
}

// noneGone is what chunk_append takes for: it is not known that those who closed the stream are gone.
const noneGone = ""

// closedByGone returns who closed a stream, as its state says it, if none of these steps is in a log any more: a Redis that
// failed over has lost them. The runs that replay execute them again under other ids, and those have to write. It returns
// noneGone where a step of any run may be the one that closed the stream.
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
	// "<attempt> <step> …". A step is of the run that writes, of the one that the stream's name says, or of another that
	// it was passed on to, which only the id of the step can tell: "".
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
	if found[0].Run == "" { // its log is not there, so it says nothing
		return noneGone, nil
	}
	for _, f := range found[1:] {
		if f.Step {
			return noneGone, nil
		}
	}
	return by, nil
}
