package storage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
)

// endMark is in the error of a script if the log does not have the last event that the caller got (lua/lib/event.lua).
const endMark = "LOGENDS"

// endOf returns the last event that the caller got: what it says itself, or its cursor, whichever is later.
func endOf(req world.CreateEvent) *world.LogEnd {
	if req.SinceCursor == "" {
		return req.LogEnd
	}
	last, err := paging.OpenEventCursor(paging.EventScope(req.RunID, ""), req.SinceCursor)
	if err != nil || req.LogEnd != nil && req.LogEnd.Position >= last.Position {
		return req.LogEnd
	}
	return &last
}

// known is what the caller asks and says of the log, as lua/lib/event.lua reads it: <question>[@<createdAt>@<position>].
func (c *call) known() string {
	if c.end == nil {
		return c.asked.String()
	}
	return c.asked.String() + endText(*c.end)
}

// endText is @<createdAt>@<position>, what a script compares with what it knows of the log; createdAt is empty if it is not known.
func endText(end world.LogEnd) string {
	created := ""
	if end.CreatedAt != 0 {
		created = strconv.FormatInt(int64(end.CreatedAt), 10)
	}
	return "@" + created + "@" + strconv.Itoa(end.Position)
}

// endMissing reports whether a script was stopped because the log has lost its end.
func endMissing(err error) bool { return strings.Contains(err.Error(), endMark) }

// endRefusal is the refusal for that. Both SDKs then load the log again and decide again.
func endRefusal(runID string, cause error) error {
	e := world.Wrap(world.CodePrecondition, cause, fmt.Sprintf("The log of run %s does not have the last event that the caller has seen", runID))
	e.RunID = runID
	return e
}
