package waiters

import "context"

// auditBatch is how many awaited runs are read in one round trip.
const auditBatch = 500

// audit wakes those who wait for a run that has ended, and reports whether there was an end of which no message had come.
func (ws *Waiters) audit(ctx context.Context) (missed bool) {
	awaited := ws.all()
	for len(awaited) > 0 && ctx.Err() == nil {
		batch := awaited[:min(auditBatch, len(awaited))]
		awaited = awaited[len(batch):]
		runIDs := make([]string, len(batch))
		for i, r := range batch {
			runIDs[i] = r.runID
		}
		for i, ended := range ws.config.Ended(ctx, runIDs) {
			if ended {
				missed = ws.found(batch[i]) || missed
			}
		}
	}
	return missed
}

func (ws *Waiters) all() []*awaitedRun {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	out := make([]*awaitedRun, 0, len(ws.runs))
	for _, r := range ws.runs {
		out = append(out, r)
	}
	return out
}

// found wakes those who wait for a run that has ended, and reports whether no message had come.
func (ws *Waiters) found(r *awaitedRun) (missed bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	missed, r.notified = !r.notified, true
	r.wake()
	return missed
}
