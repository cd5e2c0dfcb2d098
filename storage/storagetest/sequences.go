package storagetest

import (
	flags "flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

// A sequence of a failure comes again with -model.seed=<its seed> -model.sequences=1.
var (
	modelSequences = flags.Int("model.sequences", usualSequences, "how many random sequences of calls the model test makes")
	modelSeed      = flags.Uint64("model.seed", 0, "seed of the first sequence; 0 draws one")
)

// Share returns how many random sequences a test makes that makes one for so many of the model test; 1 is the model test.
func Share(of int) int { return max(1, *modelSequences/of) }

func firstSeed() uint64 {
	if *modelSeed != 0 {
		return *modelSeed
	}
	return rand.Uint64N(1 << 40)
}

// Sequences makes random sequences of calls, which are answered as the model says, and leave what the model holds. They are
// made by some workers at once, each with a store of its own.
func Sequences(t *testing.T, workers, sequences int, open func(t *testing.T) *Subject) {
	seed := firstSeed()
	for w := range min(workers, sequences) {
		t.Run(fmt.Sprintf("worker %d", w), func(t *testing.T) {
			t.Parallel()
			var s *Subject
			for i := w; i < sequences && !t.Failed(); i += workers {
				s = emptied(t, s, open)
				newSequence(t, s, seed+uint64(i)).run()
			}
		})
	}
}

// emptied returns a store that is empty: the one there is, or a new one.
func emptied(t *testing.T, s *Subject, open func(t *testing.T) *Subject) *Subject {
	t.Helper()
	if s == nil || s.Reset == nil {
		return open(t)
	}
	s.Reset(t)
	return s
}
