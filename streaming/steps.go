package streaming

import (
	"fmt"
	"strings"
	"unicode"

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
