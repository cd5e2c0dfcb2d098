package storage

import (
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

const (
	// defaultSpec is the spec version of a client that gives none.
	defaultSpec = 3
	// A client mints the run id itself; these are how far its clock may be off.
	maxRunAge    = 24 * time.Hour
	maxRunFuture = 5 * time.Minute
)

// checkEvent checks what can be checked of a request without Redis, and fills in defaults.
func (s *Store) checkEvent(req *world.CreateEvent) error {
	if !req.Type.Known() {
		return unsupported(req.Type)
	}
	if req.SpecVersion == 0 {
		req.SpecVersion = defaultSpec
	}
	switch {
	case req.RunID != "":
		if err := world.CheckID("runId", req.RunID); err != nil {
			return err
		}
		if req.Type == world.EventRunCreated {
			if err := checkRunTime(req.RunID, s.now()); err != nil {
				return err
			}
		}
	case req.Type == world.EventRunCreated:
		req.RunID = s.ids.Prefixed("wrun_")
	default:
		return world.Errorf(world.CodeInvalid, "runId is required for %s events", req.Type)
	}
	if req.CorrelationID != "" || req.Type.OfEntity() {
		if err := world.CheckID("correlationId", req.CorrelationID); err != nil {
			return err
		}
	}
	if req.SinceCursor != "" {
		if _, err := paging.OpenEventCursor(paging.EventScope(req.RunID, ""), req.SinceCursor); err != nil {
			return err
		}
	}
	return s.checkData(req)
}

// checkData checks what storage itself reads of eventData, and what depends on its settings. The shape is checked by the API.
func (s *Store) checkData(req *world.CreateEvent) error {
	for _, key := range req.Type.RequiredData() {
		if !readable(req.Data, key) {
			return unreadable(req.Type, key)
		}
	}
	switch req.Type {
	case world.EventRunCreated, world.EventRunStarted:
		return checkFirstAttributes(req.Data)
	case world.EventAttrSet:
		return checkAttributeChanges(req)
	case world.EventHookCreated:
		if until, _ := record.MillisField(req.Data, "tokenRetentionUntil"); until > s.now()+world.Millis(s.retention.Milliseconds()) {
			return world.Errorf(world.CodeInvalid, "The hook's minimum retention cannot exceed %s", days(s.retention))
		}
	case world.EventStepRetrying:
		if _, ok := record.MillisField(req.Data, "retryAfter"); req.Data.Has("retryAfter") && !ok {
			return unreadable(req.Type, "retryAfter")
		}
	}
	return nil
}

// readable reports whether storage can read an entry of eventData that it needs. Payloads may be absent: whether a workflow
// has an input is between it and the SDK. Attributes have checks of their own.
func readable(data world.Fields, key string) bool {
	switch key {
	case "deploymentId", "workflowName", "stepName":
		return record.TextField(data, key) != ""
	case "token":
		return validToken(record.TextField(data, key))
	case "resumeAt":
		_, ok := record.MillisField(data, key)
		return ok
	default:
		return true
	}
}

func validToken(token string) bool { return token != "" && len(token) <= world.MaxToken }

// unreadable is the refusal of an event whose shape is wrong. The API refuses it first, and says more.
func unreadable(t world.EventType, key string) error {
	return world.Errorf(world.CodeInvalid, "eventData.%s of %s is missing or not valid", key, t)
}

func unsupported(t world.EventType) error {
	return world.Errorf(world.CodeInvalid, "Event type %q is not supported", t)
}

// checkRunTime refuses a client's run id that is no ULID or whose time is too far from ours.
func checkRunTime(runID string, now world.Millis) error {
	ms, ok := runindex.Time(runID)
	if !ok {
		return world.Errorf(world.CodeInvalid, "Invalid runId: %q is not a valid ULID", runID)
	}
	drift := time.Duration(now-ms) * time.Millisecond
	switch {
	case drift > maxRunAge:
		return world.Errorf(world.CodeInvalid, "Invalid runId timestamp: embedded timestamp is %.0fs in the past (threshold: %.0fs)",
			drift.Seconds(), maxRunAge.Seconds())
	case drift < -maxRunFuture:
		return world.Errorf(world.CodeInvalid, "Invalid runId timestamp: embedded timestamp is %.0fs in the future (threshold: %.0fs)",
			-drift.Seconds(), maxRunFuture.Seconds())
	}
	return nil
}
