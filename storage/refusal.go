package storage

import (
	"errors"
	"fmt"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// worldSpec is the newest spec version that is understood.
const worldSpec = 7

// errLegacyRun is the cause of a refusal that [Store.CreateEvent] answers by other rules.
var errLegacyRun = errors.New("the run has spec version 1 or less")

// refusal turns a refusing reply into the error of the contract.
func refusal(req world.CreateEvent, now world.Millis, code int, r record.Reply) error {
	id := req.CorrelationID
	switch code {
	case codeRunMissing:
		return world.RunNotFound(req.RunID)
	case codeRunExists:
		return world.Errorf(world.CodeConflict, "Workflow run %q already exists", req.RunID)
	case codeRunEnded:
		if req.Type == world.EventAttrSet {
			return world.Errorf(world.CodeConflict, "Cannot set attributes on run in terminal state %q", r.Text(1))
		}
		return world.Errorf(world.CodeConflict, "Cannot transition run from terminal state %q", r.Text(1))
	case codeRunExpired:
		e := world.Errorf(world.CodeRunExpired, "Workflow run %q is already in terminal state %q", req.RunID, r.Text(1))
		e.RunID = req.RunID
		return e
	case codeRunClosed:
		return world.Errorf(world.CodeConflict, "Cannot create new entities on run in terminal state %q", r.Text(1))
	case codeRunTooNew:
		spec := r.Number(1)
		e := world.Errorf(world.CodeRunNotSupported,
			"Run requires spec version %d, but this World supports version %d at most", spec, worldSpec)
		e.RunID, e.RunSpec, e.WorldSpec = req.RunID, spec, worldSpec
		return e
	case codeRunLegacy:
		return world.Wrap(world.CodeInvalid, errLegacyRun,
			fmt.Sprintf("Event type '%s' not supported for legacy runs (specVersion: %d)", req.Type, r.Number(1)))
	case codeStepMissing:
		return world.StepNotFound(id)
	case codeStepExists:
		if req.Type == world.EventStepStarted {
			return world.Errorf(world.CodeConflict, "Step %q already created", id)
		}
		return world.Errorf(world.CodeConflict, "Step %q already exists", id)
	case codeStepEnded:
		return world.Errorf(world.CodeConflict, "Cannot modify step in terminal state %q", r.Text(1))
	case codeStepTooEarly:
		e := world.Errorf(world.CodeTooEarly, "Cannot start step %q: retryAfter timestamp has not been reached yet", id)
		e.RetryAfter = max(1, int((int64(r.Number(1))-int64(now)+999)/1000))
		return e
	case codeAttributeExists:
		return world.Errorf(world.CodeConflict, "Attribute event %q already exists", id)
	case codeAttributesUnknown:
		return attributeInvalid("The run has spec version %d; attributes came with version 4", r.Number(1))
	case codeAttributesFull:
		return attributeInvalid("Run attribute count would exceed limit %d (post-merge %d)", world.MaxAttributes, r.Number(1))
	case codeHookMissing:
		return world.HookNotFound(id)
	case codeHookExists:
		return world.Errorf(world.CodeConflict, "Hook %q already created", id)
	case codeResumeTaken:
		return world.Errorf(world.CodeConflict, "Resume id %q was used for another hook or payload", req.ResumeID)
	case codeWaitMissing:
		return world.Errorf(world.CodeWaitNotFound, "Wait %q not found", id)
	case codeWaitExists:
		return world.Errorf(world.CodeConflict, "Wait %q already exists", id)
	case codeWaitEnded:
		return world.Errorf(world.CodeConflict, "Wait %q already completed", id)
	case codeRunRemoved:
		if req.Type == world.EventRunCreated {
			return runRemoved(req.RunID)
		}
		return world.RunNotFound(req.RunID)
	case codeRunModern:
		return world.Errorf(world.CodeConflict, "Workflow run %q has spec version %d: it is changed by events, not by legacy calls", req.RunID, r.Number(1))
	case codeRunNotPaused:
		return world.Errorf(world.CodeNotFound, "Workflow run %q is not paused, it is %s", req.RunID, r.Text(1))
	case codeStepGone:
		return world.Errorf(world.CodeRunExpired, "Step %q has ended already, it is %s", id, r.Text(1))
	default:
		return world.Wrap(world.CodeInternal, fmt.Errorf("script reply code %d", code), "A script of the storage returned an unknown code")
	}
}

// runRemoved is the refusal to create a run anew.
func runRemoved(runID string) error {
	return world.Errorf(world.CodeConflict, "Workflow run %q existed and has been removed", runID)
}
