package operations

import (
	"slices"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// checkEvent refuses requests that have not the shape of an event, so storage only gets valid ones.
// It turns timestamps in eventData into whole epoch milliseconds.
func checkEvent(req *world.CreateEvent) error {
	switch {
	case req.Type == "":
		return refuse.Invalid("event.eventType is missing")
	case !req.Type.Known():
		return refuse.Invalid("event.eventType %q is not one that a client may send", req.Type)
	case req.Type.OfEntity() && req.CorrelationID == "":
		return refuse.Invalid("event.correlationId is missing, %s events need it", req.Type)
	}
	for i := range req.Data {
		if err := checkDatum(&req.Data[i]); err != nil {
			return err
		}
	}
	// SDKs from before event sourcing write events only as a log, so payloads are optional.
	if req.V1Compat || req.SpecVersion == 1 {
		return nil
	}
	for _, key := range req.Type.RequiredData() {
		if !req.Data.Has(key) {
			return refuse.Invalid("event.eventData.%s is missing, %s events need it", key, req.Type)
		}
	}
	return nil
}

// checkDatum checks one entry of eventData. Entries with unknown keys are not checked.
func checkDatum(f *world.Field) error {
	switch f.Key {
	case "resumeAt", "retryAfter", "tokenRetentionUntil":
		ms, ok := cboritem.TimestampOf(f.Value)
		if !ok {
			return refuse.Invalid("event.eventData.%s %s", f.Key, input.TimestampRule)
		}
		f.Value = cboritem.AppendInt(nil, int64(ms))
	case "token":
		return checkDatumText(f, world.MaxToken)
	case "cancelReason":
		if s, ok := cboritem.TextOf(f.Value); ok {
			if err := world.CheckCancelReason("event.eventData.cancelReason", s); err != nil {
				return err
			}
		}
		return checkDatumText(f, input.MaxName)
	case "deploymentId", "workflowName", "stepName", "errorCode", "encryptionPublicKey", "ownerMessageId":
		return checkDatumText(f, input.MaxName)
	case "isWebhook", "isSystem", "allowReservedAttributes":
		if _, ok := cboritem.BoolOf(f.Value); !ok {
			return refuse.Invalid("event.eventData.%s must be true or false", f.Key)
		}
	case "executionContext", "attributes", "writer":
		if cboritem.MajorOf(f.Value) != cboritem.MajorMap {
			return refuse.Invalid("event.eventData.%s must be an object", f.Key)
		}
	case "changes":
		if cboritem.MajorOf(f.Value) != cboritem.MajorArray {
			return refuse.Invalid("event.eventData.%s must be a list", f.Key)
		}
	}
	return nil
}

func checkDatumText(f *world.Field, limit int) error {
	s, ok := cboritem.TextOf(f.Value)
	switch {
	case !ok:
		return refuse.Invalid("event.eventData.%s must be text", f.Key)
	case s == "" && slices.Contains([]string{"workflowName", "stepName"}, f.Key):
		return refuse.Invalid("event.eventData.%s is empty", f.Key)
	case len(s) > limit:
		return refuse.Invalid("event.eventData.%s has %d bytes, the limit is %d", f.Key, len(s), limit)
	}
	return nil
}
