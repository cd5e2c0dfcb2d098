package world

import (
	"errors"
	"fmt"
)

// Code is the stable name of a refusal, for programs. One table, in httpapi/internal/refuse, maps each code to an HTTP
// status and to an error class of the SDK (contract §7).
type Code string

// The codes a World answers with.
const (
	CodeRunNotFound      Code = "run_not_found"
	CodeHookNotFound     Code = "hook_not_found"
	CodeStepNotFound     Code = "step_not_found"
	CodeWaitNotFound     Code = "wait_not_found"
	CodeEventNotFound    Code = "event_not_found"
	CodeNotFound         Code = "not_found" // a route, or anything that has no code of its own
	CodeConflict         Code = "conflict"
	CodeRunExpired       Code = "run_expired"
	CodeTooEarly         Code = "too_early"
	CodeThrottled        Code = "throttled"
	CodePrecondition     Code = "precondition_failed"
	CodeRunNotSupported  Code = "run_not_supported"
	CodeInvalid          Code = "invalid"
	CodeRepeatedID       Code = "repeated_id"       // a list of ids contains one twice
	CodeAttributeInvalid Code = "attribute_invalid" // attributes that break their rules; fatal for the run
	CodeTooLarge         Code = "too_large"
	CodeOverBudget       Code = "over_budget" // the service's memory budget is used up; the same call succeeds later
	CodeUnauthorized     Code = "unauthorized"
	CodeStreamClosed     Code = "stream_closed"
	CodeUnavailable      Code = "unavailable"   // Redis cannot be reached, or the service is draining; try again
	CodeLoopDetected     Code = "loop_detected" // the request passed through more than MaxHops services
	CodeInternal         Code = "internal"
)

// Error is a refusal with a code. Message is for the caller. The wrapped cause is for the log and never leaves the
// process.
type Error struct {
	Code       Code
	Message    string
	RetryAfter int // whole seconds, with CodeTooEarly, CodeThrottled, CodeOverBudget and CodeUnavailable
	RunID      string
	Token      string
	RunSpec    int // with CodeRunNotSupported
	WorldSpec  int
	Cause      error
}

// Error implements error. The text contains the cause, so it is for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error. The text of a %w in the format becomes part of Message; use [Wrap] for a cause that must
// stay internal.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error with a cause that appears only in the log.
func Wrap(code Code, cause error, message string) *Error {
	return &Error{Code: code, Message: message, Cause: cause}
}

// RunNotFound is the refusal for a run that does not exist.
func RunNotFound(runID string) *Error {
	return &Error{Code: CodeRunNotFound, Message: fmt.Sprintf("Workflow run %q not found", runID), RunID: runID}
}

// HookNotFound is the refusal for a hook id or token that names no live hook.
func HookNotFound(tokenOrID string) *Error {
	return &Error{Code: CodeHookNotFound, Message: "Hook not found", Token: tokenOrID}
}

// StepNotFound is the refusal for a missing step. The SDK matches its wording.
func StepNotFound(stepID string) *Error {
	return Errorf(CodeStepNotFound, "Step %q not found", stepID)
}

// ErrorCode returns the code of err: CodeInternal for an error without one, "" for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
