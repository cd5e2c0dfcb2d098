package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/world-redis/world-redis"
)

// GetRuns implements world.Archive.
func (a *Archive) GetRuns(ctx context.Context, runIDs []string, resolveNone bool) ([]*world.Run, error) {
	out := make([]*world.Run, len(runIDs))
	asked := make([]string, 0, len(runIDs))
	for _, id := range runIDs {
		if toText(id) == id { // no id that is stored is different
			asked = append(asked, id)
		}
	}
	found, err := read(ctx, a, scanRun, a.sql.runs, a.namespace, asked, !resolveNone)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*world.Run, len(found))
	for i := range found {
		byID[found[i].RunID] = &found[i]
	}
	for i, id := range runIDs {
		out[i] = byID[id]
	}
	return out, nil
}

// ListRuns implements world.Archive. A page has at most 8 MiB, but at least one run.
func (a *Archive) ListRuns(ctx context.Context, q world.ArchivedRuns) ([]world.Run, bool, error) {
	if q.Limit <= 0 {
		return nil, false, nil
	}
	sql, args := a.listSQL(q)
	type listed struct {
		run  world.Run
		rows int64
	}
	found, err := read(ctx, a, func(row pgx.CollectableRow) (l listed, err error) {
		l.run, err = scanRunAnd(row, &l.rows)
		return l, err
	}, sql, args...)
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	out := make([]world.Run, 0, len(found))
	for _, l := range found[:min(len(found), q.Limit)] {
		out = append(out, l.run)
	}
	return out, int64(len(out)) < found[0].rows, nil
}

// listSQL reads each status by the index that has it in order, so that no row is read that is not wanted.
func (a *Archive) listSQL(q world.ArchivedRuns) (sql string, args []any) {
	statuses := q.Statuses
	if len(statuses) == 0 {
		statuses = []world.RunStatus{world.RunCompleted, world.RunFailed, world.RunCancelled}
	}
	args = []any{a.namespace, !q.ResolveNone, q.Limit + 1}
	where, compare, order := "namespace = $1", ">", "ASC"
	if q.Order == world.Descending {
		compare, order = "<", "DESC"
	}
	if q.WorkflowName != "" {
		args = append(args, toText(q.WorkflowName))
		where += ` AND "left"(workflow_name, 200) = "left"($4, 200) AND workflow_name = $4`
	}
	if q.After != nil {
		args = append(args, int64(q.After.MS), toText(q.After.RunID))
		where += fmt.Sprintf(" AND (place_ms, run_id) %s ($%d, $%d)", compare, len(args)-1, len(args))
	}
	schema, parts := pgx.Identifier{a.schema}.Sanitize(), make([]string, len(statuses))
	for i, status := range statuses {
		args = append(args, string(status))
		parts[i] = fmt.Sprintf("(SELECT * FROM %[1]s.runs WHERE %[2]s AND status = $%[3]d ORDER BY place_ms %[4]s, run_id %[4]s LIMIT $3)", schema, where, len(args), order)
	}
	sizes := "CASE WHEN $2 THEN coalesce(octet_length(input), 0) + coalesce(octet_length(output), 0) ELSE 0 END + coalesce(octet_length(error), 0)"
	return fmt.Sprintf(`SELECT %[1]s, read_rows FROM (
		SELECT *, sum(%[2]s) OVER w AS read_bytes, row_number() OVER w AS read_row, count(*) OVER () AS read_rows
		FROM (SELECT * FROM (%[3]s) one ORDER BY place_ms %[4]s, run_id %[4]s LIMIT $3) found
		WINDOW w AS (ORDER BY place_ms %[4]s, run_id %[4]s ROWS UNBOUNDED PRECEDING)
	) page WHERE read_row = 1 OR read_bytes <= %[5]d ORDER BY place_ms %[4]s, run_id %[4]s`,
		fmt.Sprintf(runColumns, 2), sizes, strings.Join(parts, " UNION ALL "), order, portionBytes), args
}

// FindStep implements world.Archive. It finds the run of a hook or of a wait, too, by the event that created it.
func (a *Archive) FindStep(ctx context.Context, stepID string) (string, error) {
	return a.find(ctx, a.sql.findStep, stepID)
}

// FindStream implements world.Archive.
func (a *Archive) FindStream(ctx context.Context, name string) (string, error) {
	return a.find(ctx, a.sql.findStream, name)
}

func (a *Archive) find(ctx context.Context, sql, name string) (string, error) {
	found, err := read(ctx, a, pgx.RowTo[string], sql, a.namespace, toText(name))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}
