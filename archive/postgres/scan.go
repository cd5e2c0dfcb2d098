package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/world-redis/world-redis"
)

func scanRun(row pgx.CollectableRow) (world.Run, error) { return scanRunAnd(row) }

// scanRunAnd scans the columns of a run, and then others.
func scanRunAnd(row pgx.CollectableRow, others ...any) (world.Run, error) {
	var r world.Run
	err := row.Scan(append([]any{
		&r.RunID, (*string)(&r.Status), &r.WorkflowName, &r.DeploymentID, &r.SpecVersion, &r.ErrorCode, &r.EncryptionPublicKey,
		bytesOf(&r.ExecutionContext), bytesOf(&r.Attributes), bytesOf(&r.Input), bytesOf(&r.Output), bytesOf(&r.Error),
		number(&r.CreatedAt), number(&r.UpdatedAt), number(&r.StartedAt), number(&r.CompletedAt), number(&r.ExpiredAt),
	}, others...)...)
	original(&r.WorkflowName, &r.DeploymentID, &r.ErrorCode, &r.EncryptionPublicKey)
	return r, err
}

func (p *partReader) scanEvent(row pgx.CollectableRow) (n numbered[world.Event], err error) {
	e, data, payload, key, at := &n.value, []byte(nil), []byte(nil), "", 0
	err = row.Scan(&n.place, &e.EventID, (*string)(&e.Type), &e.CorrelationID, &e.SpecVersion, number(&e.CreatedAt), number(&e.OccurredAt),
		&e.ResumeID, &data, &payload, &key, &at, &n.rows)
	if err != nil {
		return n, err
	}
	e.RunID = p.runID
	original(&e.CorrelationID, &e.ResumeID)
	e.Data, err = joinData(data, payload, key, at)
	if p.want.ResolveNone && key != "" && len(e.Data) == 0 {
		e.Data = nil // the payload was all it had
	}
	return n, err
}

func (p *partReader) scanStep(row pgx.CollectableRow) (n numbered[world.Step], err error) {
	s := &n.value
	s.RunID = p.runID
	err = row.Scan(&n.place, &s.StepID, &s.StepName, (*string)(&s.Status), &s.Attempt, &s.SpecVersion, bytesOf(&s.Input), bytesOf(&s.Output), bytesOf(&s.Error),
		number(&s.CreatedAt), number(&s.UpdatedAt), number(&s.StartedAt), number(&s.CompletedAt), number(&s.RetryAfter), &n.rows)
	original(&s.StepName)
	return n, err
}

func (p *partReader) scanHook(row pgx.CollectableRow) (n numbered[world.HookCopy], err error) {
	h := &n.value
	h.RunID = p.runID
	err = row.Scan(&n.place, &h.HookID, &h.Token, &h.Position, &h.OwnerID, &h.ProjectID, &h.Environment, bytesOf(&h.Metadata),
		&h.IsWebhook, &h.IsSystem, &h.SpecVersion, number(&h.CreatedAt), number(&h.TokenRetentionUntil), &n.rows)
	original(&h.Token, &h.OwnerID, &h.ProjectID, &h.Environment)
	return n, err
}

// numberedStream is a stream with the number that its chunks name it by.
type numberedStream struct {
	world.StreamCopy
	number int64
}

func scanStream(row pgx.CollectableRow) (n numbered[numberedStream], err error) {
	n.value, err = scanStreamAnd(row, &n.rows)
	n.place = n.value.number
	return n, err
}

func scanStreamOnly(row pgx.CollectableRow) (numberedStream, error) { return scanStreamAnd(row) }

func scanStreamAnd(row pgx.CollectableRow, others ...any) (s numberedStream, err error) {
	err = row.Scan(append([]any{&s.number, &s.Name, &s.Count, &s.Ends}, others...)...)
	original(&s.Name)
	if len(s.Ends) == 0 {
		s.Ends = nil
	}
	return s, err
}

func scanChunk(row pgx.CollectableRow) (n numbered[world.Chunk], err error) {
	err = row.Scan(&n.place, &n.value.Data, &n.rows)
	n.value.Index = n.place
	return n, err
}

func bytesOf(raw *world.Raw) *[]byte { return (*[]byte)(raw) }
func number(m *world.Millis) *int64  { return (*int64)(m) }

func original(texts ...*string) {
	for _, t := range texts {
		*t = fromText(*t)
	}
}
