package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/world-redis/world-redis"
)

// PutRuns implements world.Archive. All runs are stored in one transaction. Rows are sent in portions of 8 MiB, so a run is never
// in memory as a whole.
func (a *Archive) PutRuns(ctx context.Context, copies []*world.RunCopy) error {
	if len(copies) == 0 {
		return nil
	}
	if err := checkCopies(copies); err != nil {
		return err
	}
	tx, err := a.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit there is nothing to roll back
	p := put{archive: a, tx: tx}
	if err := p.runs(ctx, copies); err != nil {
		return failure(err)
	}
	return failure(tx.Commit(ctx))
}

func checkCopies(copies []*world.RunCopy) error {
	seen := make(map[string]bool, len(copies))
	for _, c := range copies {
		if !c.Run.Status.Terminal() {
			return &Error{Message: fmt.Sprintf("the run %s has not ended (%s), so it cannot be archived", c.Run.RunID, c.Run.Status)}
		}
		if seen[c.Run.RunID] {
			return &Error{Message: fmt.Sprintf("the run %s is in one batch twice", c.Run.RunID)}
		}
		seen[c.Run.RunID] = true
	}
	return nil
}

// put is one call of PutRuns.
type put struct {
	archive *Archive
	tx      pgx.Tx
	rows    [tables][][]any
	bytes   int
}

// The tables in the order in which they are filled.
const (
	runs = iota
	events
	steps
	hooks
	streams
	chunks
	tables
)

const (
	portionBytes = 8 << 20
	rowBytes     = 200 // of a row besides its values
)

func (p *put) runs(ctx context.Context, copies []*world.RunCopy) error {
	ids := make([]string, len(copies))
	for i, c := range copies {
		ids[i] = c.Run.RunID
	}
	keys, err := p.begin(ctx, ids)
	if err != nil {
		return err
	}
	for i, c := range copies {
		if err := p.run(ctx, keys[i], c); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// begin removes earlier copies, and returns a key for each run. Only one call at a time stores runs in a namespace.
func (p *put) begin(ctx context.Context, ids []string) ([]int64, error) {
	a := p.archive
	var keys []int64
	batch := &pgx.Batch{}
	batch.Queue("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", a.schema+" "+a.namespace)
	batch.Queue(a.sql.remove, a.namespace, ids)
	batch.Queue(a.sql.newKeys, len(ids)).Query(func(rows pgx.Rows) (err error) {
		keys, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := p.tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	return keys, nil
}

// run adds the rows of one run.
func (p *put) run(ctx context.Context, key int64, c *world.RunCopy) error {
	if err := p.add(ctx, runs, runRow(key, p.archive.namespace, &c.Run)); err != nil {
		return err
	}
	if c.Parts == nil {
		return nil
	}
	var counts [tables]int64
	for part, err := range c.Parts {
		if err != nil {
			return copyError(c, err)
		}
		table, row := partRow(key, &part, &counts)
		counts[table]++
		if err := p.add(ctx, table, row); err != nil {
			return err
		}
	}
	if counts[events] != c.Events {
		return copyError(c, fmt.Errorf("%d of %d events were read", counts[events], c.Events))
	}
	return nil
}

// copyError names the run that could not be read.
func copyError(c *world.RunCopy, err error) error {
	if errors.As(err, new(*world.CopyError)) {
		return err
	}
	return &world.CopyError{RunID: c.Run.RunID, Err: err}
}

// add adds a row, and sends the rows that are there if they are many.
func (p *put) add(ctx context.Context, table int, row []any) error {
	p.rows[table] = append(p.rows[table], row)
	p.bytes += rowBytes
	for _, value := range row {
		if b, ok := value.([]byte); ok {
			p.bytes += len(b)
		}
	}
	if p.bytes < portionBytes {
		return nil
	}
	return p.flush(ctx)
}

func (p *put) flush(ctx context.Context) error {
	for table := range p.rows {
		if len(p.rows[table]) == 0 {
			continue
		}
		_, err := p.tx.CopyFrom(ctx, pgx.Identifier{p.archive.schema, tableNames[table]}, columns[table], pgx.CopyFromRows(p.rows[table]))
		if err != nil {
			return err
		}
		clear(p.rows[table])
		p.rows[table] = p.rows[table][:0]
	}
	p.bytes = 0
	return nil
}

// DeleteRuns implements world.Archive.
func (a *Archive) DeleteRuns(ctx context.Context, runIDs []string) error {
	if len(runIDs) == 0 {
		return nil
	}
	tx, err := a.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit there is nothing to roll back
	if _, err := tx.Exec(ctx, a.sql.remove, a.namespace, runIDs); err != nil {
		return failure(err)
	}
	return failure(tx.Commit(ctx))
}
