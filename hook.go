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
	TokenRetentionUntil Millis      // the token stays this hook's until then, even when the run has ended
	Resume              *HookResume // by-token lookups only
}

// HookResume is what a resume of a hook needs of its run, so that it need not read the run.
type HookResume struct {
	DeploymentID        string
	WorkflowName        string
	RunSpecVersion      int
	WorkflowCoreVersion string
	TraceCarrier        Raw // a map of texts
	EncryptionPublicKey string
	InputVersion        int // hookResumeInputVersion, 0: absent
	DedupVersion        int // of the resume id contract that the World keeps
}

// Wait is a timer of a run. Waits have no read API: they travel in answers only.
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
	// GetHookByToken returns the live hook that holds the token, with Resume, or CodeHookNotFound.
	// A claim whose hook is gone is not taken for truth.
	GetHookByToken(ctx context.Context, token string, resolveNone bool) (Hook, error)
	// ListHooks returns a page of live hooks.
	ListHooks(ctx context.Context, q HookQuery) (Page[Hook], error)
}
