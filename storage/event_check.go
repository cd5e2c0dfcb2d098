package storage

import (
	"strings"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

const (
	// defaultSpec is taken when a client does not say which rules it writes under.
	defaultSpec = 3
	// A client mints the run id itself; these are how far its clock may be off.
	maxRunAge    = 24 * time.Hour
	maxRunFuture = 5 * time.Minute
	maxToken     = 4096
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
		if !ids.Valid(req.RunID) {
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
	if strings.HasPrefix(string(req.Type), "run_") || req.Type == world.EventAttrSet {
		if req.CorrelationID != "" && !ids.Valid(req.CorrelationID) {
			return badID("correlationId", req.CorrelationID)
		}
	} else if !ids.Valid(req.CorrelationID) {
		return badID("correlationId", req.CorrelationID)
	}
	if req.SinceCursor != "" {
		if _, err := openEventCursor(eventScope(req.RunID, ""), req.SinceCursor); err != nil {
			return err
		}
	}
	return s.checkData(req)
}

// checkData looks for what the event cannot do without. Payloads may be absent: whether a
// workflow has an input is between it and the SDK.
func (s *Store) checkData(req *world.CreateEvent) error {
	switch req.Type {
	case world.EventRunCreated:
		if textField(req.Data, "deploymentId") == "" || textField(req.Data, "workflowName") == "" {
			return missing(req.Type, "deploymentId and workflowName")
		}
		return checkFirstAttributes(req.Data)
	case world.EventRunStarted:
		return checkFirstAttributes(req.Data)
	case world.EventAttrSet:
		return checkAttributeChanges(req)
	case world.EventStepCreated:
		if textField(req.Data, "stepName") == "" {
			return missing(req.Type, "stepName")
		}
	case world.EventHookCreated:
		token := textField(req.Data, "token")
		if token == "" {
			return missing(req.Type, "token")
		}
		if len(token) > maxToken {
			return world.Errorf(world.CodeInvalid, "The hook token has %d bytes; the most is %d", len(token), maxToken)
		}
		if until, _ := millisField(req.Data, "tokenRetentionUntil"); until > s.now()+world.Millis(s.retention.Milliseconds()) {
			return world.Errorf(world.CodeInvalid, "The hook's minimum retention cannot exceed %s", days(s.retention))
		}
	case world.EventWaitCreated:
		if _, ok := millisField(req.Data, "resumeAt"); !ok {
			return missing(req.Type, "resumeAt")
		}
	case world.EventStepRetrying:
		if _, ok := millisField(req.Data, "retryAfter"); req.Data.Has("retryAfter") && !ok {
			return world.Errorf(world.CodeInvalid, "eventData.retryAfter of %s is no moment", req.Type)
		}
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
	return world.Errorf(world.CodeInvalid, "%s %q is not valid: letters, digits, '_', '.', ':' and '-', at most 256", name, id)
}

// checkRunTime refuses a client's run id that is no ULID or whose time is too far from ours.
func checkRunTime(runID string, now world.Millis) error {
	ms, ok := runTime(runID)
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

// runTime reads the ms of a run id, with or without its prefix.
func runTime(runID string) (world.Millis, bool) {
	return ids.Time("", strings.TrimPrefix(runID, "wrun_"))
}
