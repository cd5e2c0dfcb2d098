package storage

import (
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/paging"
	"github.com/world-redis/world-redis/storage/internal/record"
	"github.com/world-redis/world-redis/storage/internal/runindex"
)

const (
	// defaultSpec is taken when a client does not say which rules it writes under.
	defaultSpec = 3
	// A client mints the run id itself; these are how far its clock may be off.
	maxRunAge    = 24 * time.Hour
	maxRunFuture = 5 * time.Minute
)

// checkEvent checks a request as far as that goes without Redis, and fills in defaults.
func (s *Store) checkEvent(req *world.CreateEvent) error {
	if !req.Type.Known() {
		return world.Errorf(world.CodeInvalid, "Event type %q cannot be created by a client", req.Type)
	}
	if req.SpecVersion == 0 {
		req.SpecVersion = defaultSpec
	}
	switch {
	case req.RunID != "":
		if !world.ValidID(req.RunID) {
			return badID("runId", req.RunID)
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
	if (req.CorrelationID != "" || req.Type.OfEntity()) && !world.ValidID(req.CorrelationID) {
		return badID("correlationId", req.CorrelationID)
	}
	if req.SinceCursor != "" {
		if _, err := paging.OpenEventCursor(paging.EventScope(req.RunID, ""), req.SinceCursor); err != nil {
			return err
		}
	}
	return s.checkData(req)
}

// checkData looks for what storage itself reads of an event. The shape of a request is the API's matter.
func (s *Store) checkData(req *world.CreateEvent) error {
	for _, key := range req.Type.RequiredData() {
		if !readable(req.Data, key) {
			return missing(req.Type, key)
		}
	}
	switch req.Type {
	case world.EventRunCreated, world.EventRunStarted:
		return checkFirstAttributes(req.Data)
	case world.EventAttrSet:
		return checkAttributeChanges(req)
	case world.EventHookCreated:
		if err := checkToken(record.TextField(req.Data, "token")); err != nil {
			return err
		}
		if until, _ := record.MillisField(req.Data, "tokenRetentionUntil"); until > s.now()+world.Millis(s.retention.Milliseconds()) {
			return world.Errorf(world.CodeInvalid, "The hook's minimum retention cannot exceed %s", days(s.retention))
		}
	case world.EventStepRetrying:
		if _, ok := record.MillisField(req.Data, "retryAfter"); req.Data.Has("retryAfter") && !ok {
			return world.Errorf(world.CodeInvalid, "eventData.retryAfter of %s is no timestamp", req.Type)
		}
	}
	return nil
}

// readable reports whether storage can read a required entry of eventData. Payloads may be absent: whether a workflow
// has an input is between it and the SDK. Attributes have checks of their own.
func readable(data world.Fields, key string) bool {
	switch key {
	case "deploymentId", "workflowName", "stepName", "token":
		return record.TextField(data, key) != ""
	case "resumeAt":
		_, ok := record.MillisField(data, key)
		return ok
	default:
		return true
	}
}

func checkToken(token string) error {
	if token == "" || len(token) > world.MaxToken {
		return world.Errorf(world.CodeInvalid, "The hook token has %d bytes; 1 to %d are allowed", len(token), world.MaxToken)
	}
	return nil
}

func missing(t world.EventType, what string) error {
	return world.Errorf(world.CodeInvalid, "eventData of %s lacks %s", t, what)
}

func badID(name, id string) error {
	if id == "" {
		return world.Errorf(world.CodeInvalid, "%s is required", name)
	}
	if len(id) > 300 {
		id = id[:300] + "…"
	}
	return world.Errorf(world.CodeInvalid, "%s %q is not valid: it %s", name, id, world.IDRule)
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
