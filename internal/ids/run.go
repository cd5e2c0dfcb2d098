package ids

import "time"

// runAppears is how old the id of a run is when the run must be there: what comes earlier, such as its
// first message or chunk, may be ahead of its creation.
const runAppears = time.Minute

// RunIsDue reports whether id is that of a run that must have been stored by now, so that it does not
// exist if it is unknown. isRun is false for what is no id of a run, whatever its age.
func RunIsDue(id string, now time.Time) (due, isRun bool) {
	minted, isRun := Time("wrun_", id)
	return isRun && now.Sub(minted.Time()) >= runAppears, isRun
}
