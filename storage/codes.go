package storage

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

	codeAttributeExists   = -20
	codeAttributesFull    = -21
	codeAttributesUnknown = -22

	codeRunRemoved   = -23
	codeRunActive    = -24
	codeRunHeld      = -25
	codeRunUncleared = -26

	codeRunModern    = -40
	codeRunNotPaused = -41
	codeStepGone     = -42
)
