package object

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

const (
	// timed has the objects of runs with a time in their id: runs/<year>/<month>/<day>/<hour>/<run id>.wra, in UTC.
	timed = "runs"
	// untimed has those of other runs: other/<run id>/<createdAt>.wra, with = in place of colons.
	untimed = "other"
	// suffix ends the name of each object.
	suffix = ".wra"
	// maxOwnID is the longest id, in bytes, that is no ULID: it is the name of a folder.
	maxOwnID = 200
)

// hourOf returns the folder of the runs of an hour.
func hourOf(ms world.Millis) string { return timed + "/" + ms.Time().Format("2006/01/02/15") }

// objectOf returns the name of the object of a run.
func objectOf(run world.Run) (string, error) {
	if ms, ok := ids.Time("wrun_", run.RunID); ok {
		return hourOf(ms) + "/" + run.RunID + suffix, nil
	}
	if !world.ValidID(run.RunID) || len(run.RunID) > maxOwnID {
		return "", fmt.Errorf("the run id %.40q is too long for the name of an object: this archive takes ids of at most %d characters", run.RunID, maxOwnID)
	}
	return fmt.Sprintf("%s/%013d%s", ownFolder(run.RunID), int64(run.CreatedAt), suffix), nil
}

// ownFolder is the folder of a run whose id has no time.
func ownFolder(runID string) string {
	return untimed + "/" + strings.ReplaceAll(runID, ":", "=")
}

// ownPlace returns the place of a run from its folder and object.
func ownPlace(folder, object string) (world.ArchivePlace, bool) {
	ms, err := strconv.ParseInt(strings.TrimSuffix(object, suffix), 10, 64)
	return world.ArchivePlace{MS: world.Millis(ms), RunID: strings.ReplaceAll(folder, "=", ":")}, err == nil
}
