package httpapi

import (
	"context"

	"github.com/world-redis/world-redis"
)

// droppedMessage is what became of a message that was to be removed.
type droppedMessage struct {
	message world.MessageInfo // as it was before
	outcome world.DropOutcome
	left    int64 // messages of its run
}

func (a *api) dropMessage(ctx context.Context, id string) (dropped droppedMessage, err error) {
	if dropped.message, err = a.deps.Admin.GetMessage(ctx, id); err != nil {
		return dropped, err
	}
	dropped.message.MessageID = id
	if dropped.outcome, err = a.deps.Admin.DropMessage(ctx, id); err != nil {
		return dropped, err
	}
	if runID := dropped.message.RunID; runID != "" {
		dropped.left, err = a.deps.Admin.CountRunMessages(ctx, runID)
	}
	return dropped, err
}

func encodeDropped(e *encoder, d droppedMessage) {
	o := e.object()
	o.text("messageId", d.message.MessageID)
	o.text("outcome", string(d.outcome))
	o.text("state", string(d.message.State))
	o.optionalText("runId", d.message.RunID)
	if d.message.RunID != "" {
		o.whole("left", d.left)
	}
	o.end()
}
