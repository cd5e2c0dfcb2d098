package asynqbridge

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The asynq of go.mod makes the calls that the bridge knows. If this fails after an upgrade, read what the named
// scripts of asynq do now before you change knownCalls.
func TestAsynqSendsWhatIsKnown(t *testing.T) {
	t.Parallel()
	require.NoError(t, Check())
}

// A script with an unknown text, or an unknown number of keys or arguments, is reported at the start, in one sentence.
func TestAnotherAsynqIsFoundAtTheStart(t *testing.T) {
	t.Parallel()
	for i, c := range knownCalls {
		for what, change := range map[string]func(c *call){
			"text":      func(c *call) { c.sha = "0" + c.sha[1:] + "0" },
			"keys":      func(c *call) { c.keys = append(slices.Clone(c.keys), "pending") },
			"key":       func(c *call) { c.keys = append([]string{"elsewhere"}, c.keys[1:]...) },
			"arguments": func(c *call) { c.args++ },
		} {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					other := slices.Clone(knownCalls)
					change(&other[i])
					err := rehearse(other)
					require.ErrorContains(t, err, "it sends script "+c.sha)
					require.NotContains(t, err.Error(), "\n")
				})
			})
		}
	}
}

// A call that asynq no longer makes is reported, too: the service relies on it.
func TestACallThatAsynqNoLongerSendsIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		more := append(slices.Clone(knownCalls), call{name: "renew", sha: "none"})
		require.ErrorContains(t, rehearse(more), "it does not send renew")
	})
}
