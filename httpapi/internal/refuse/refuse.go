// Package refuse has the form of errors on the wire: the table from codes to HTTP statuses and the SDK's error
// classes, and the body of the answer.
package refuse

import (
	"fmt"
	"net/http"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// The codes that only HTTP has.
const (
	CodeUnsupportedMedia world.Code = "unsupported_media_type" // a body of another media type
	CodeForbidden        world.Code = "forbidden"              // a Host that is only allowed with a token
)

// WireForm is the one table from codes to HTTP statuses and the SDK's error classes.
func WireForm(code world.Code) (status int, name string) {
	const general = "WorkflowWorldError"
	switch code {
	case world.CodeRunNotFound:
		return http.StatusNotFound, "WorkflowRunNotFoundError"
	case world.CodeHookNotFound:
		return http.StatusNotFound, "HookNotFoundError"
	case world.CodeStepNotFound, world.CodeWaitNotFound, world.CodeEventNotFound, world.CodeNotFound:
		return http.StatusNotFound, general
	case world.CodeConflict:
		return http.StatusConflict, "EntityConflictError"
	case world.CodeStreamClosed:
		return http.StatusConflict, general
	case world.CodeRunExpired:
		return http.StatusGone, "RunExpiredError"
	case world.CodePrecondition:
		return http.StatusPreconditionFailed, "PreconditionFailedError"
	case world.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, general
	case CodeUnsupportedMedia:
		return http.StatusUnsupportedMediaType, general
	case world.CodeRunNotSupported:
		return http.StatusUnprocessableEntity, "RunNotSupportedError"
	case world.CodeTooEarly:
		return http.StatusTooEarly, "TooEarlyError"
	case world.CodeThrottled, world.CodeOverBudget:
		return http.StatusTooManyRequests, "ThrottleError"
	case world.CodeInvalid, world.CodeRepeatedID:
		return http.StatusBadRequest, general
	case world.CodeAttributeInvalid:
		return http.StatusBadRequest, "AttributeValidationError"
	case world.CodeUnauthorized:
		return http.StatusUnauthorized, general
	case CodeForbidden:
		return http.StatusForbidden, general
	case world.CodeUnavailable:
		return http.StatusServiceUnavailable, general
	case world.CodeLoopDetected:
		return http.StatusLoopDetected, general
	case world.CodeInternal:
		return http.StatusInternalServerError, general
	default:
		return http.StatusInternalServerError, general
	}
}

// Encode returns the body of an error.
func Encode(e world.Error, status int, name string) []byte {
	enc := wire.NewEncoder(256)
	body := enc.Object()
	body.Key("error")
	o := enc.Object()
	o.Text("name", name)
	o.Text("message", e.Message)
	o.Whole("status", int64(status))
	o.Text("code", string(e.Code))
	if e.RetryAfter > 0 {
		o.Whole("retryAfter", int64(e.RetryAfter))
	}
	o.OptionalText("runId", e.RunID)
	o.OptionalText("token", e.Token)
	if e.Code == world.CodeRunNotSupported {
		o.Whole("runSpecVersion", int64(e.RunSpec))
		o.Whole("worldSpecVersion", int64(e.WorldSpec))
	}
	o.End()
	body.End()
	return enc.Bytes
}

// Invalid returns the error for invalid input.
func Invalid(format string, args ...any) error {
	return world.Errorf(world.CodeInvalid, "%s", fmt.Sprintf(format, args...))
}

// TooLarge returns the error for a body that is too large; size is -1 if it was not announced.
func TooLarge(size, limit int64) *world.Error {
	if size < 0 {
		return world.Errorf(world.CodeTooLarge, "the body is larger than the limit of %d bytes (WORKFLOW_WORLD_MAX_BODY)", limit)
	}
	return world.Errorf(world.CodeTooLarge, "the body has %d bytes, the limit is %d (WORKFLOW_WORLD_MAX_BODY)", size, limit)
}
