package operations

import (
	"slices"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	maxNonce         = 128  // bytes
	maxWorkflows     = 200  // names
	maxWorkflowBytes = 8192 // bytes of all names, with one byte between two
)

// readIdentity reads by what an app is recognised when something answers at its address.
func readIdentity(o *input.Object, app *world.App) {
	app.Nonce = o.Text("nonce", maxNonce)
	if o.Get("workflows") == nil {
		return
	}
	names := o.Texts("workflows", maxWorkflows, func(name string) bool { return name != "" && !strings.Contains(name, "\n") }, "is not the name of a workflow")
	slices.Sort(names)
	app.Workflows = strings.Join(slices.Compact(names), "\n")
	if len(app.Workflows) > maxWorkflowBytes {
		o.Fail("workflows", "has more than 8 KiB")
	}
}

// encodeWarnings writes {} or {warnings}.
func encodeWarnings(e *wire.Encoder, warnings []world.AppWarning) {
	o := e.Object()
	if len(warnings) > 0 {
		warnings = warnings[:min(len(warnings), world.MaxAppWarnings)]
		o.Key("warnings")
		e.Array(len(warnings))
		for _, w := range warnings {
			one := e.Object()
			one.Text("code", string(w.Code))
			one.Text("message", strings.ToValidUTF8(w.Message[:min(len(w.Message), world.MaxAppWarning)], ""))
			one.End()
		}
	}
	o.End()
}
