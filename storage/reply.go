package storage

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
)

// The reply codes of the scripts; lua/lib/codes.lua has the same list.
const (
	codeDone         = 0
	codeReplayed     = 1
	codeUnchanged    = 2
	codeRecorded     = 3
	codeStepsWrong   = 4
	codeRunMissing   = -1
	codeRunExists    = -2
	codeRunEnded     = -3
	codeRunExpired   = -4
	codeRunClosed    = -5
	codeRunTooNew    = -6
	codeRunLegacy    = -7
	codeStepMissing  = -8
	codeStepExists   = -9
	codeStepEnded    = -10
	codeStepTooEarly = -11
	codeHookMissing  = -12
	codeHookExists   = -13
	codeClaimRevoked = -14
	codeResumeTaken  = -15
	codeWaitMissing  = -16
	codeWaitExists   = -17
	codeWaitEnded    = -18
	codeEventMissing = -19

	codeAttributeExists = -20
	codeAttributesFull  = -21
	codeNoAttributes    = -22

	codeRunModern    = -40
	codeRunNotPaused = -41
	codeStepGone     = -42
)

// worldSpec is the newest spec version that is understood.
const worldSpec = 7

// reply is what a script answered.
type reply []any

// at returns element i, nil when there is none.
func (r reply) at(i int) any {
	if i >= len(r) {
		return nil
	}
	return r[i]
}

// after returns the elements from i on.
func (r reply) after(i int) reply { return r[min(i, len(r)):] }

func (r reply) code() (int, error) {
	if len(r) == 0 {
		return 0, luascript.ErrShortReply
	}
	n, err := luascript.Int(r[0])
	return int(n), err
}

// list returns element i as a list, nil when it is none.
func (r reply) list(i int) reply {
	l, _ := r.at(i).([]any)
	return l
}

// text returns element i as text; integers are written out, nil and lists are "".
func (r reply) text(i int) string {
	switch v := r.at(i).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		return ""
	}
}

// number returns element i as a number, 0 when it is none.
func (r reply) number(i int) int {
	n, err := strconv.Atoi(r.text(i))
	if err != nil {
		return 0
	}
	return n
}

// bytes returns element i as bytes; nil stays nil. They are the reply's own, since a copy of a large payload
// costs as much as its way through the kernel: nobody may change them, as nobody may change what is stored.
func (r reply) bytes(i int) []byte {
	s, ok := r.at(i).(string)
	switch {
	case !ok:
		return nil
	case s == "":
		return []byte{}
	default:
		return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
	}
}

// errLegacyRun is the cause of a refusal that [Store.CreateEvent] answers by other rules.
var errLegacyRun = errors.New("the run has spec version 1 or less")

// refusal turns a refusing reply into the error of the contract.
func refusal(req world.CreateEvent, now world.Millis, code int, r reply) error {
	id := req.CorrelationID
	switch code {
	case codeRunMissing:
		return world.RunNotFound(req.RunID)
	case codeRunExists:
		return world.Errorf(world.CodeConflict, "Workflow run %q already exists", req.RunID)
	case codeRunEnded:
		if req.Type == world.EventAttrSet {
			return world.Errorf(world.CodeConflict, "Cannot set attributes on run in terminal state %q", r.text(1))
		}
		return world.Errorf(world.CodeConflict, "Cannot transition run from terminal state %q", r.text(1))
	case codeRunExpired:
		e := world.Errorf(world.CodeRunExpired, "Workflow run %q is already in terminal state %q", req.RunID, r.text(1))
		e.RunID = req.RunID
		return e
	case codeRunClosed:
		return world.Errorf(world.CodeConflict, "Cannot create new entities on run in terminal state %q", r.text(1))
	case codeRunTooNew:
		spec := r.number(1)
		e := world.Errorf(world.CodeRunNotSupported,
			"Run requires spec version %d, but this World supports version %d at most", spec, worldSpec)
		e.RunID, e.RunSpec, e.WorldSpec = req.RunID, spec, worldSpec
		return e
	case codeRunLegacy:
		return world.Wrap(world.CodeInvalid, errLegacyRun,
			fmt.Sprintf("Event type '%s' not supported for legacy runs (specVersion: %d)", req.Type, r.number(1)))
	case codeStepMissing:
		return world.StepNotFound(id)
	case codeStepExists:
		if req.Type == world.EventStepStarted {
			return world.Errorf(world.CodeConflict, "Step %q already created", id)
		}
		return world.Errorf(world.CodeConflict, "Step %q already exists", id)
	case codeStepEnded:
		return world.Errorf(world.CodeConflict, "Cannot modify step in terminal state %q", r.text(1))
	case codeStepTooEarly:
		e := world.Errorf(world.CodeTooEarly, "Cannot start step %q: retryAfter timestamp has not been reached yet", id)
		e.RetryAfter = max(1, int((int64(r.number(1))-int64(now)+999)/1000))
		return e
	case codeAttributeExists:
		return world.Errorf(world.CodeConflict, "Attribute event %q already exists", id)
	case codeNoAttributes:
		return attributeInvalid("The run has spec version %d; attributes came with version 4", r.number(1))
	case codeAttributesFull:
		return attributeInvalid("Run attribute count would exceed limit %d (post-merge %d)", maxAttributes, r.number(1))
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
	case codeRunModern:
		return world.Errorf(world.CodeConflict, "Workflow run %q has spec version %d: it is changed by events, not by legacy calls", req.RunID, r.number(1))
	case codeRunNotPaused:
		return world.Errorf(world.CodeNotFound, "Workflow run %q is not paused, it is %s", req.RunID, r.text(1))
	case codeStepGone:
		return world.Errorf(world.CodeRunExpired, "Step %q has ended already, it is %s", id, r.text(1))
	default:
		return world.Wrap(world.CodeInternal, fmt.Errorf("script reply code %d", code), "The storage gave an answer that is not understood")
	}
}
