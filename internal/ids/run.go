package ids

import "time"

// runAppears is the age of a run id from which the run must exist. Before that, a first message or chunk may arrive
// ahead of the run's creation.
const runAppears = time.Minute

// RunIsDue reports whether id is a run id so old that the run must have been stored by now: if it is unknown, it does
// not exist. isRun is false for a text that is not a run id.
func RunIsDue(id string, now time.Time) (due, isRun bool) {
	minted, isRun := Time("wrun_", id)
	return isRun && now.Sub(minted.Time()) >= runAppears, isRun
}
