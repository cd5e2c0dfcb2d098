package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// The codes with which the service itself fails a run. The first two are the SDK's own
// (contract §7); for a value that is too large it has none.
const (
	CodeUndeliverable  = "MAX_DELIVERIES_EXCEEDED" // a message was given up
	CodeDeploymentGone = "DEPLOYMENT_MISMATCH"     // no app of the run's deployment is left
	CodeTooLarge       = "PAYLOAD_TOO_LARGE"       // the run has a value that the service does not take
)

// firstBytesSpec is the spec version from which a run's error is bytes of the SDK's format
// instead of an object (contract §2.5).
const firstBytesSpec = 4

// lastLegacySpec is the last spec version whose runs are changed by calls and not by events
// (contract §9).
const lastLegacySpec = 1

// startTime is how long the first event of a run may come after its first message: start()
// sends both at once, and tries again while the service does not answer.
const startTime = time.Minute

// Failer ends runs that cannot go on.
type Failer struct {
	Clock world.Clock // nil: the system's
	Store interface {
		world.RunStore
		world.EventStore
		UpdateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (world.Run, error)
	}
}

// FailRun writes run_failed, or what a run of spec 1 has instead, with the code and the sentence. A run that has ended, or does not
// exist, is left as it is; that is no error, unless its id is so new that it may be about to
// begin: then it would go on without ever having heard. It is safe to call twice.
func (f Failer) FailRun(ctx context.Context, runID, code, sentence string) error {
	run, err := f.Store.GetRun(ctx, runID, true)
	if world.ErrorCode(err) == world.CodeRunNotFound {
		if aboutToBegin(f.Clock, runID) {
			return err
		}
		return nil
	}
	if err != nil || run.Status.Terminal() {
		return err
	}
	thrown, err := thrownError(run.SpecVersion, code, sentence)
	if err != nil {
		return err
	}
	requestID := "fail " + code
	if run.SpecVersion <= lastLegacySpec {
		_, err = f.Store.UpdateLegacyRun(ctx, world.UpdateLegacyRun{
			RunID: runID, RequestID: requestID, Status: world.RunFailed, Error: thrown, ResolveNone: true,
		})
		return unlessEnded(err)
	}
	errorCode, err := cbor.Marshal(code)
	if err != nil {
		return fmt.Errorf("encode error code: %w", err)
	}
	_, err = f.Store.CreateEvent(ctx, world.CreateEvent{
		RunID: runID, RequestID: requestID, Type: world.EventRunFailed, SpecVersion: run.SpecVersion, ResolveNone: true,
		Data: world.Fields{{Key: "error", Value: thrown}, {Key: "errorCode", Value: errorCode}},
	})
	return unlessEnded(err)
}

// unlessEnded is the error of failing a run, without those that say that it ended meanwhile.
func unlessEnded(err error) error {
	switch world.ErrorCode(err) {
	case world.CodeConflict, world.CodeRunExpired, world.CodeRunNotFound:
		return nil
	default:
		return err
	}
}

// aboutToBegin reports whether a run that does not exist may do so soon.
func aboutToBegin(clock world.Clock, runID string) bool {
	if clock == nil {
		clock = world.SystemClock{}
	}
	made, ok := ids.Time("wrun_", runID)
	return ok && clock.Now().Sub(made.Time()) < startTime
}

// thrownError is the value of eventData.error: what the SDK of the run would have written for
// an Error that its own runtime throws.
func thrownError(spec int, code, sentence string) (world.Raw, error) {
	if spec < firstBytesSpec {
		return marshal(map[string]string{"message": sentence, "code": code})
	}
	// The SDK's format "devl": values in a list that refer to one another by index, and a type
	// that JSON does not have as a pair of its name and its parts.
	parts, err := json.Marshal([]any{
		[]any{"Error", 1},
		map[string]int{"name": 2, "message": 3, "stack": 4},
		"WorkflowRuntimeError", sentence, "WorkflowRuntimeError: " + sentence,
	})
	if err != nil {
		return nil, fmt.Errorf("encode error: %w", err)
	}
	return marshal(append([]byte("devl"), parts...))
}

func marshal(v any) (world.Raw, error) {
	raw, err := cbor.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode error: %w", err)
	}
	return raw, nil
}
