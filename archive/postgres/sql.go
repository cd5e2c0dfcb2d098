package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// statements are the texts of the queries for one schema.
type statements struct {
	remove, newKeys      string
	runs                 string
	findStep, findStream string
	events, eventsBack   pageQuery
	steps, stepsBack     pageQuery
	hooks, streams       pageQuery
	stream               string
	chunks               pageQuery
}

// pageQuery reads one page of a run's rows. Its parameters are the namespace, the run id, the first place, the number of rows,
// whether payloads are wanted, and then what else.
type pageQuery string

// The columns that are read, in the order of the scans. NULL is the zero value there.
const (
	runColumns = `run_id, status, workflow_name, coalesce(deployment_id, ''), spec_version, coalesce(error_code, ''),
	coalesce(encryption_public_key, ''), execution_context, attributes,
	CASE WHEN $%[1]d THEN input END, CASE WHEN $%[1]d THEN output END, error,
	coalesce(created_ms, 0), coalesce(updated_ms, 0), coalesce(started_ms, 0), coalesce(completed_ms, 0), coalesce(expired_ms, 0)`
	eventColumns = `position, event_id, type, coalesce(correlation_id, ''), spec_version, coalesce(created_ms, 0), coalesce(occurred_ms, 0),
	coalesce(resume_id, ''), data, CASE WHEN $5 THEN payload END, coalesce(payload_key, ''), coalesce(payload_at, 0)`
	stepColumns = `number, step_id, coalesce(step_name, ''), status, attempt, spec_version, CASE WHEN $5 THEN input END, CASE WHEN $5 THEN output END,
	error, coalesce(created_ms, 0), coalesce(updated_ms, 0), coalesce(started_ms, 0), coalesce(completed_ms, 0), coalesce(retry_after_ms, 0)`
	hookColumns = `number, hook_id, token, position, coalesce(owner_id, ''), coalesce(project_id, ''), coalesce(environment, ''),
	CASE WHEN $5 THEN metadata END, is_webhook, is_system, spec_version, coalesce(created_ms, 0), coalesce(retention_until_ms, 0)`
)

func statementsFor(schema string) statements {
	named := func(sql string) string { return strings.ReplaceAll(sql, "$schema", pgx.Identifier{schema}.Sanitize()) }
	page := func(table, place, columns, sizes string, backwards bool) pageQuery {
		return pageQuery(named(pageSQL(table, place, columns, sizes, backwards)))
	}
	const eventSizes, entitySizes = "payload, data", "input, output, error"
	return statements{
		remove: named(`WITH gone AS (DELETE FROM $schema.runs WHERE namespace = $1 AND run_id = ANY($2) RETURNING key),
			e AS (DELETE FROM $schema.events WHERE run IN (SELECT key FROM gone)),
			s AS (DELETE FROM $schema.steps WHERE run IN (SELECT key FROM gone)),
			h AS (DELETE FROM $schema.hooks WHERE run IN (SELECT key FROM gone)),
			t AS (DELETE FROM $schema.streams WHERE run IN (SELECT key FROM gone))
			DELETE FROM $schema.chunks WHERE run IN (SELECT key FROM gone)`),
		newKeys: named(`SELECT nextval(pg_get_serial_sequence('$schema.runs', 'key')) FROM generate_series(1, $1::int)`),
		runs:    named(`SELECT ` + fmt.Sprintf(runColumns, 3) + ` FROM $schema.runs WHERE namespace = $1 AND run_id = ANY($2)`),
		findStep: named(`SELECT r.run_id FROM (
				SELECT run FROM $schema.steps WHERE step_id = $2
				UNION ALL SELECT run FROM $schema.events WHERE correlation_id = $2 AND type IN ('hook_created', 'wait_created')
			) entity JOIN $schema.runs r ON r.key = entity.run WHERE r.namespace = $1 ORDER BY r.key DESC LIMIT 1`),
		findStream: named(`SELECT r.run_id FROM $schema.streams s JOIN $schema.runs r ON r.key = s.run
			WHERE r.namespace = $1 AND s.name = $2 ORDER BY r.key DESC LIMIT 1`),
		events:     page("events", "position", eventColumns, eventSizes, false),
		eventsBack: page("events", "position", eventColumns, eventSizes, true),
		steps:      page("steps", "number", stepColumns, entitySizes, false),
		stepsBack:  page("steps", "number", stepColumns, entitySizes, true),
		hooks:      page("hooks", "number", hookColumns, "metadata", false),
		streams:    page("streams", "number", "number, name, count, ends", "", false),
		stream: named(`SELECT s.number, s.name, s.count, s.ends FROM $schema.streams s JOIN $schema.runs r ON r.key = s.run
			WHERE r.namespace = $1 AND r.run_id = $2 AND s.name = $3`),
		chunks: page("chunks", "index", "index, data", "data", false),
	}
}

// pageSQL reads up to $4 rows of a table from place $3 on, and of them as many as have at most portionBytes in the columns of sizes
// together, but at least one. The last column is the number of rows without the limit of bytes.
//
// The length of a value is known without reading it, so the values of the rows that are left out are not read.
func pageSQL(table, place, columns, sizes string, backwards bool) string {
	compare, order := ">=", "ASC"
	if backwards {
		compare, order = "<=", "DESC"
	}
	bytes := "0"
	for column := range strings.SplitSeq(sizes, ", ") {
		if column != "" {
			bytes += " + coalesce(octet_length(" + column + "), 0)"
		}
	}
	ofStream := ""
	if table == "chunks" {
		ofStream = " AND t.stream = $6"
	}
	return fmt.Sprintf(`SELECT %[3]s, read_rows FROM (
		SELECT *, sum(%[4]s) OVER (ORDER BY %[2]s %[6]s ROWS UNBOUNDED PRECEDING) AS read_bytes, row_number() OVER (ORDER BY %[2]s %[6]s) AS read_row,
			count(*) OVER () AS read_rows
		FROM (
			SELECT t.* FROM $schema.%[1]s t JOIN $schema.runs r ON r.key = t.run
			WHERE r.namespace = $1 AND r.run_id = $2 AND t.%[2]s %[5]s $3 AND $5::boolean IS NOT NULL%[7]s ORDER BY t.%[2]s %[6]s LIMIT $4
		) found
	) page WHERE read_row = 1 OR read_bytes <= %[8]d ORDER BY %[2]s %[6]s`, table, place, columns, bytes, compare, order, ofStream, portionBytes)
}
