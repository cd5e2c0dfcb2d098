package postgres

import (
	"strings"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

var tableNames = [tables]string{"runs", "events", "steps", "hooks", "streams", "chunks"}

// columns are those of each table, in the order of the rows that are made here.
var columns = [tables][]string{
	runs: {
		"key", "namespace", "run_id", "place_ms", "status", "workflow_name", "deployment_id", "spec_version", "error_code",
		"encryption_public_key", "execution_context", "attributes", "input", "output", "error",
		"created_ms", "updated_ms", "started_ms", "completed_ms", "expired_ms",
	},
	events: {
		"run", "position", "event_id", "type", "correlation_id", "spec_version", "created_ms", "occurred_ms", "resume_id",
		"data", "payload", "payload_key", "payload_at",
	},
	steps: {
		"run", "number", "step_id", "step_name", "status", "attempt", "spec_version", "input", "output", "error",
		"created_ms", "updated_ms", "started_ms", "completed_ms", "retry_after_ms",
	},
	hooks: {
		"run", "number", "hook_id", "token", "position", "owner_id", "project_id", "environment", "metadata",
		"is_webhook", "is_system", "spec_version", "created_ms", "retention_until_ms",
	},
	streams: {"run", "number", "name", "count", "ends"},
	chunks:  {"run", "stream", "index", "data"},
}

// placeOf is the place of a run in lists: the time in its id, or that of its creation for an id without one.
func placeOf(run *world.Run) world.Millis {
	if ms, ok := ids.Time("", strings.TrimPrefix(run.RunID, "wrun_")); ok {
		return ms
	}
	return run.CreatedAt
}

func runRow(key int64, namespace string, r *world.Run) []any {
	return []any{
		key, namespace, r.RunID, int64(placeOf(r)), string(r.Status), toText(r.WorkflowName), text(r.DeploymentID), r.SpecVersion, text(r.ErrorCode),
		text(r.EncryptionPublicKey), value(r.ExecutionContext), value(r.Attributes), value(r.Input), value(r.Output), value(r.Error),
		ms(r.CreatedAt), ms(r.UpdatedAt), ms(r.StartedAt), ms(r.CompletedAt), ms(r.ExpiredAt),
	}
}

// partRow returns the row of a part and its table. counts has how many rows of the run are in each table.
func partRow(key int64, part *world.RunPart, counts *[tables]int64) (table int, row []any) {
	switch {
	case part.Event != nil:
		return events, eventRow(key, counts[events], part.Event)
	case part.Step != nil:
		return steps, stepRow(key, counts[steps], part.Step)
	case part.Hook != nil:
		return hooks, hookRow(key, counts[hooks], part.Hook)
	case part.Stream != nil:
		s := part.Stream
		counts[chunks] = 0
		return streams, []any{key, counts[streams], toText(s.Name), s.Count, append([]int64{}, s.Ends...)}
	default:
		return chunks, []any{key, counts[streams] - 1, part.Chunk.Index, append([]byte{}, part.Chunk.Data...)}
	}
}

func eventRow(key, position int64, e *world.Event) []any {
	data, payload, payloadKey, at := splitData(e)
	row := []any{
		key, position, e.EventID, string(e.Type), text(e.CorrelationID), e.SpecVersion, ms(e.CreatedAt), ms(e.OccurredAt), text(e.ResumeID),
		value(data), nil, nil, nil,
	}
	if payload != nil {
		row[10], row[11], row[12] = value(payload), payloadKey, at
	}
	return row
}

func stepRow(key, number int64, s *world.Step) []any {
	return []any{
		key, number, s.StepID, text(s.StepName), string(s.Status), s.Attempt, s.SpecVersion, value(s.Input), value(s.Output), value(s.Error),
		ms(s.CreatedAt), ms(s.UpdatedAt), ms(s.StartedAt), ms(s.CompletedAt), ms(s.RetryAfter),
	}
}

func hookRow(key, number int64, h *world.HookCopy) []any {
	return []any{
		key, number, h.HookID, toText(h.Token), h.Position, text(h.OwnerID), text(h.ProjectID), text(h.Environment), value(h.Metadata),
		h.IsWebhook, h.IsSystem, h.SpecVersion, ms(h.CreatedAt), ms(h.TokenRetentionUntil),
	}
}

// text, value and ms write NULL for what is absent.

func text(s string) any {
	if s == "" {
		return nil
	}
	return toText(s)
}

func value[B ~[]byte](raw B) any {
	if raw == nil {
		return nil
	}
	return []byte(raw)
}

func ms(m world.Millis) any {
	if m == 0 {
		return nil
	}
	return int64(m)
}
