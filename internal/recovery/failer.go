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

// The codes with which the service itself fails a run. The first two are the SDK's own (contract §7); it has none for
// a value that is too large.
const (
	CodeUndeliverable  = "MAX_DELIVERIES_EXCEEDED" // a message was given up
	CodeDeploymentGone = "DEPLOYMENT_MISMATCH"     // no app of the run's deployment is left
	CodeTooLarge       = "PAYLOAD_TOO_LARGE"       // the run has a value that exceeds the service's size limit
)

// firstBytesSpec is the spec version from which a run's error is bytes in the SDK's format, not an object (contract
// §2.5).
const firstBytesSpec = 4

// lastLegacySpec is the last spec version whose runs are changed by calls and not by events (contract §9).
const lastLegacySpec = 1

// startTime is how much later than its first message a run's first event may come: start() sends both at the same
// time, and retries while the service does not answer.
const startTime = time.Minute

// Failer ends runs that cannot continue.
type Failer struct {
	Clock world.Clock // nil means the system's clock
	Store interface {
		world.RunStore
		world.EventStore
		UpdateLegacyRun(ctx context.Context, req world.UpdateLegacyRun) (world.Run, error)
	}
}

// FailRun writes run_failed, or its equivalent for a run of spec 1, with the code and the sentence. A run that has
// ended or does not exist is left unchanged. That is no error, unless its id is so new that the run may be about to
// begin: it would then continue without the failure. FailRun is safe to call twice.
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

// unlessEnded returns the error of failing a run, or nil if the error says that the run has ended in the meantime.
func unlessEnded(err error) error {
	switch world.ErrorCode(err) {
	case world.CodeConflict, world.CodeRunExpired, world.CodeRunNotFound:
		return nil
	default:
		return err
	}
}

// aboutToBegin reports whether a run that does not exist may begin soon.
func aboutToBegin(clock world.Clock, runID string) bool {
	if clock == nil {
		clock = world.SystemClock{}
	}
	made, ok := ids.Time("wrun_", runID)
	return ok && clock.Now().Sub(made.Time()) < startTime
}

// thrownError returns the value of eventData.error: what the run's SDK would have written for an Error thrown by its
// own runtime.
func thrownError(spec int, code, sentence string) (world.Raw, error) {
	if spec < firstBytesSpec {
		return marshal(map[string]string{"message": sentence, "code": code})
	}
	// The SDK's format "devl": a list of values that refer to each other by index. A type that JSON lacks is a pair
	// of its name and its parts.
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
