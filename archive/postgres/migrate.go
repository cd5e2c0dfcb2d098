package postgres

import (
	"context"
	"embed"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// version is that of the tables that this build reads and writes.
const version = 1

//go:embed migrations
var migrations embed.FS

// migrationLock is held by the process that changes the tables.
const migrationLock = 0x776f726c64 // "world"

// migrate brings the tables to this build's version, in one transaction.
func (a *Archive) migrate(ctx context.Context) error {
	have, err := a.tablesVersion(ctx, a.pool)
	if err != nil || have == version {
		return err
	}
	conn, err := a.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// A transaction that began before the lock was free could not see what the process before did.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return err
	}
	defer a.unlock(context.WithoutCancel(ctx), conn.Conn())
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		have, err := a.tablesVersion(ctx, tx) // another process may have done it
		if err != nil || have == version {
			return err
		}
		schema := pgx.Identifier{a.schema}.Sanitize()
		if have == 0 {
			if err := a.createSchema(ctx, tx, schema); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path TO "+schema); err != nil {
			return err
		}
		for next := have + 1; next <= version; next++ {
			if err := apply(ctx, tx, next); err != nil {
				return err
			}
		}
		a.log.InfoContext(ctx, "the tables of the archive are up to date", slog.String("schema", a.schema), slog.Int("from", have), slog.Int("version", version))
		return nil
	})
}

// unlock lets the next process look. If it fails, the lock goes with the connection.
func (a *Archive) unlock(ctx context.Context, conn *pgx.Conn) {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", migrationLock); err != nil {
		_ = conn.Close(ctx)
	}
}

// createSchema creates the schema, unless somebody created it for this user.
func (a *Archive) createSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", a.schema).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "CREATE TABLE "+schema+".versions (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())")
	return err
}

func apply(ctx context.Context, tx pgx.Tx, number int) error {
	script, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", number))
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, string(script)); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO versions (version) VALUES ($1)", number)
	return err
}

// tablesVersion returns the version of the tables, 0 if there are none.
func (a *Archive) tablesVersion(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (int, error) {
	table := pgx.Identifier{a.schema, "versions"}.Sanitize()
	var encoding string
	var exists bool
	if err := q.QueryRow(ctx, "SELECT current_setting('server_encoding'), to_regclass($1) IS NOT NULL", table).Scan(&encoding, &exists); err != nil {
		return 0, err
	}
	if encoding != "UTF8" {
		return 0, &Error{Message: fmt.Sprintf("the archive needs a database with the encoding UTF8, and this one has %s: create another one", encoding)}
	}
	if !exists {
		return 0, nil
	}
	var have int
	if err := q.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+table).Scan(&have); err != nil {
		return 0, err
	}
	if have > version {
		return 0, &Error{Message: fmt.Sprintf("the tables of the archive in schema %q have version %d, and this build knows up to %d: start the newer build of world-redis that made them", a.schema, have, version)}
	}
	return have, nil
}
