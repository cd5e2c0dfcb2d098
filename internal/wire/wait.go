package wire

import "github.com/world-redis/world-redis"

// Wait is here because waits have no route of their own.
func Wait(e *Encoder, w *world.Wait) {
	o := e.Object()
	o.Text("waitId", w.WaitID)
	o.Text("runId", w.RunID)
	o.Text("status", w.Status)
	o.OptionalMillis("resumeAt", w.ResumeAt)
	o.OptionalMillis("completedAt", w.CompletedAt)
	o.Whole("createdAt", int64(w.CreatedAt))
	o.Whole("updatedAt", int64(w.UpdatedAt))
	o.OptionalWhole("specVersion", w.SpecVersion)
	o.End()
}
