package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// droppedMessage is the outcome of removing a message.
type droppedMessage struct {
	message world.MessageInfo // as it was before
	outcome world.DropOutcome
	left    int64 // messages of its run
}

func (a *API) dropMessage(ctx context.Context, id string) (dropped droppedMessage, err error) {
	if dropped.message, err = a.Deps.Admin.GetMessage(ctx, id); err != nil {
		return dropped, err
	}
	dropped.message.MessageID = id
	if dropped.outcome, err = a.Deps.Admin.DropMessage(ctx, id); err != nil {
		return dropped, err
	}
	if runID := dropped.message.RunID; runID != "" {
		dropped.left, err = a.Deps.Admin.CountRunMessages(ctx, runID)
	}
	return dropped, err
}

func encodeDropped(e *wire.Encoder, d droppedMessage) {
	o := e.Object()
	o.Text("messageId", d.message.MessageID)
	o.Text("outcome", string(d.outcome))
	o.Text("state", string(d.message.State))
	o.OptionalText("runId", d.message.RunID)
	if d.message.RunID != "" {
		o.Whole("left", d.left)
	}
	o.End()
}
