package world

import "context"

// Hook is an open hook of a run; its id is the correlation id of its events.
type Hook struct {
	RunID               string
	HookID              string
	Token               string // arbitrary text: slashes, spaces, emoji, any length
	OwnerID             string
	ProjectID           string
	Environment         string
	Metadata            Raw
	IsWebhook           bool
	IsSystem            bool
	SpecVersion         int
	CreatedAt           Millis
	TokenRetentionUntil Millis      // until then the hook keeps its token, even after its run has ended
	Resume              *HookResume // by-token lookups only
}

// HookResume holds what resuming a hook needs of its run, so that the run need not be read.
type HookResume struct {
	DeploymentID        string
	WorkflowName        string
	RunSpecVersion      int
	WorkflowCoreVersion string
	TraceCarrier        Raw // a map of strings
	EncryptionPublicKey string
	InputVersion        int // hookResumeInputVersion; 0 if absent
	DedupVersion        int // version of the resume id contract that the World supports
}

// Wait is a timer of a run. Waits have no read API: they appear only in answers.
type Wait struct {
	WaitID      string // <runId>-<correlationId>
	RunID       string
	Status      string // waiting or completed
	ResumeAt    Millis
	CompletedAt Millis
	CreatedAt   Millis
	UpdatedAt   Millis
	SpecVersion int
}

// HookQuery selects hooks, oldest first by default; an empty RunID means all runs.
type HookQuery struct {
	RunID       string
	Page        PageRequest
	ResolveNone bool
}

// HookStore reads hooks. They are written only through [EventStore.CreateEvent].
type HookStore interface {
	// GetHook returns one live hook, or CodeHookNotFound.
	GetHook(ctx context.Context, hookID string, resolveNone bool) (Hook, error)
	// GetHookByToken returns the live hook that holds the token, with Resume set, or CodeHookNotFound. A token claim
	// whose hook is gone is ignored.
	GetHookByToken(ctx context.Context, token string, resolveNone bool) (Hook, error)
	// ListHooks returns a page of live hooks.
	ListHooks(ctx context.Context, q HookQuery) (Page[Hook], error)
}
