package paging

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cursor"
)

// Place is a position in a list that is ordered by time and then by id.
type Place = cursor.Place

// OpenPlace reads a cursor of a list.
func OpenPlace(scope, text string) (Place, error) { return cursor.OpenPlace(scope, text) }

// EventScope names the list of a run's events, or of one entity's.
func EventScope(runID, correlationID string) string { return cursor.EventScope(runID, correlationID) }

// EventCursor points at a position among the events of one entity.
func EventCursor(scope string, position int) string { return cursor.EventCursor(scope, position) }

// LogCursor points at an event of a log.
func LogCursor(scope string, position int, created world.Millis) string {
	return cursor.LogCursor(scope, position, created)
}

// OpenEventCursor reads a cursor of either kind.
func OpenEventCursor(scope, text string) (world.LogEnd, error) {
	return cursor.OpenEventCursor(scope, text)
}
