package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/world-redis/world-redis"
)

const (
	// DefaultSchema has the tables if the URL does not say otherwise.
	DefaultSchema = "world_redis"

	connectTime   = 5 * time.Second
	statementTime = 30 * time.Second // of one read
	retryAfter    = time.Second      // of a database that could not be reached
	idleTime      = time.Minute      // after which a connection that is not used is closed
	mostConns     = 8                // unless the URL says otherwise (pool_max_conns)
)

// Options are what [Open] needs besides the URL.
type Options struct {
	// Namespace separates the runs of several owners in one schema. It is any text, such as the prefix of their keys in Redis.
	Namespace string
	Logger    *slog.Logger // nil: nothing is logged
}

// Archive keeps the runs of one namespace. It is safe for concurrent use.
type Archive struct {
	namespace string // as in the tables
	schema    string
	pool      *pgxpool.Pool
	log       *slog.Logger
	sql       statements

	mu       sync.Mutex
	migrated bool
	failed   error // of the last try to make the tables
	failedAt time.Time
}

var _ world.Archive = (*Archive)(nil)

// Open returns the archive in a database. The URL is one of PostgreSQL (postgres://user:password@host/database?sslmode=…) with two
// more parameters: schema, and pool_max_conns (8). The tables are created or brought up to date.
//
// A database that cannot be reached is no error: it may only be late. All calls then fail until it is there, and the tables are
// made by the first that succeeds. It is an error if the database refuses what a person has to set right: the user, the rights,
// the name of the database, its encoding, or tables of a newer build.
func Open(ctx context.Context, address string, o Options) (*Archive, error) {
	config, schema, err := parse(address)
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, failure(err)
	}
	a := &Archive{namespace: toText(o.Namespace), schema: schema, pool: pool, log: o.Logger, sql: statementsFor(schema)}
	if err := a.ready(ctx); err != nil {
		if !passes(err) {
			pool.Close()
			return nil, err
		}
		o.Logger.WarnContext(ctx, "the archive cannot be reached; runs stay in Redis until it can", slog.Any("error", err))
	}
	return a, nil
}

// parse reads an address of an archive.
func parse(address string) (*pgxpool.Config, string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, "", fmt.Errorf("the address of the archive is not of the form postgres://user:password@host:port/database")
	}
	values, schema := u.Query(), DefaultSchema
	for _, name := range []string{"search_path", "schema"} {
		if values.Has(name) {
			schema = values.Get(name)
			values.Del(name)
		}
	}
	if schema == "" || len(schema) > 63 || toText(schema) != schema {
		return nil, "", fmt.Errorf("the schema of the archive must be a name of 1 to 63 bytes")
	}
	if !values.Has("pool_max_conns") {
		values.Set("pool_max_conns", fmt.Sprint(mostConns))
	}
	u.RawQuery = values.Encode()
	config, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return nil, "", failure(err)
	}
	config.MaxConnIdleTime, config.ConnConfig.ConnectTimeout = idleTime, connectTime
	if _, ok := config.ConnConfig.RuntimeParams["application_name"]; !ok {
		config.ConnConfig.RuntimeParams["application_name"] = "world-redis"
	}
	return config, schema, nil
}

// Check implements world.Archive.
func (a *Archive) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		return err
	}
	var readOnly string
	if err := a.pool.QueryRow(ctx, "SELECT current_setting('transaction_read_only')").Scan(&readOnly); err != nil {
		return failure(err)
	}
	if readOnly == "on" {
		return fmt.Errorf("the archive is read-only: let the address name the primary server of PostgreSQL, not a standby")
	}
	return nil
}

// Close implements world.Archive. It waits until calls in progress have ended.
func (a *Archive) Close() error {
	a.pool.Close()
	return nil
}

// ready makes the tables if this process has not yet seen that they are there. While the database cannot be reached, it is tried
// once a second, and other calls fail at once.
func (a *Archive) ready(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.migrated {
		return nil
	}
	if a.failed != nil && time.Since(a.failedAt) < retryAfter {
		return a.failed
	}
	err := failure(a.migrate(ctx))
	if a.migrated = err == nil; ctx.Err() == nil {
		a.failed, a.failedAt = err, time.Now()
	}
	return err
}

// begin starts a transaction that is safe on disk when its commit returns, and that does not wait for ever.
func (a *Archive) begin(ctx context.Context) (pgx.Tx, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	tx, err := a.pool.Begin(ctx)
	if err != nil {
		return nil, failure(err)
	}
	if _, err := tx.Exec(ctx, transactionSettings); err != nil {
		_ = tx.Rollback(ctx)
		return nil, failure(err)
	}
	return tx, nil
}

const transactionSettings = `SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '30s'; SET LOCAL statement_timeout = '5min';
SET LOCAL idle_in_transaction_session_timeout = '5min'`
