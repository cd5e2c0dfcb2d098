package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/archive/archivetest"
	"github.com/world-redis/world-redis/archive/postgres"
	"github.com/world-redis/world-redis/internal/pgtest"
	"github.com/world-redis/world-redis/internal/redistest"
)

// connect connects to the server of a URL that has a schema.
func connect(t *testing.T, address string) (conn *pgx.Conn, schema string) {
	t.Helper()
	address, schema, _ = strings.Cut(address, "&schema=")
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn, schema
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func refused(t *testing.T, address, want string) {
	t.Helper()
	a, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err == nil {
		require.NoError(t, a.Close())
	}
	require.ErrorContains(t, err, want)
	require.NotContains(t, err.Error(), "secret")
	require.NotContains(t, err.Error(), "\n")
}

// Services that start at the same time make the tables once, and each of them can use them.
func TestTablesAreMadeOnce(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	const services = 6
	opened := make(chan *postgres.Archive, services)
	failed := make(chan error, services)
	for i := range services {
		go func() {
			a, err := postgres.Open(context.Background(), address, postgres.Options{Namespace: fmt.Sprint(i % 2)})
			opened <- a
			failed <- err
		}()
	}
	for range services {
		require.NoError(t, <-failed)
		a := <-opened
		require.NoError(t, a.Check(t.Context()))
		require.NoError(t, a.Close())
	}
	conn, schema := connect(t, address)
	var count int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+schema+".versions").Scan(&count))
	require.Equal(t, 1, count)
}

// Namespaces in one schema do not see each other's runs.
func TestNamespacesAreSeparate(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	one, two := open(t, address, "one"), open(t, address, "two\x00")
	defer one.Close() //nolint:errcheck // returns none
	defer two.Close() //nolint:errcheck // returns none
	c := archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))
	require.NoError(t, one.PutRuns(t.Context(), []*world.RunCopy{c}))
	runs, err := two.GetRuns(t.Context(), []string{c.Run.RunID}, true)
	require.NoError(t, err)
	require.Nil(t, runs[0])
	require.NoError(t, two.PutRuns(t.Context(), []*world.RunCopy{c}))
	require.NoError(t, one.DeleteRuns(t.Context(), []string{c.Run.RunID}))
	runs, err = two.GetRuns(t.Context(), []string{c.Run.RunID}, false)
	require.NoError(t, err)
	require.Equal(t, c.Run, *runs[0])
	require.Equal(t, archivetest.All(t, c.Parts), archivetest.All(t, two.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll})))
	list, _, err := one.ListRuns(t.Context(), world.ArchivedRuns{Order: world.Descending, Limit: 5})
	require.NoError(t, err)
	require.Empty(t, list)
}

// Tables of a newer build are left alone.
func TestNewerTablesAreRefused(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	require.NoError(t, open(t, address, "").Close())
	conn, schema := connect(t, address)
	exec(t, conn, "INSERT INTO "+schema+".versions VALUES (7)")
	refused(t, address, "have version 7, and this build knows up to 1: start the newer build")
}

// A wrong address is refused in a sentence without the password. The tables may be made by another user beforehand.
func TestWrongAddressesAreRefused(t *testing.T) {
	t.Parallel()
	refused(t, "mysql://user:secret@localhost/x", "postgres://user:password@host:port/database")
	refused(t, "postgres://user:secret@localhost:port/x", "not of the form postgres://")
	refused(t, "postgres://user:secret@localhost/x?schema=", "must be a name of 1 to 63 bytes")
	refused(t, "postgres://user:secret@localhost/x?pool_max_conns=many", "cannot be read")

	address := pgtest.New(t)
	conn, schema := connect(t, address)
	exec(t, conn, "CREATE ROLE "+schema+" LOGIN")
	as, err := url.Parse(address)
	require.NoError(t, err)
	as.User = url.UserPassword(schema, "secret")
	refused(t, as.String(), "the user of the archive lacks a right")
	exec(t, conn, "CREATE SCHEMA "+schema+" AUTHORIZATION "+schema)
	require.NoError(t, open(t, as.String(), "").Close())

	as.User = url.UserPassword("nobody here", "secret")
	refused(t, as.String(), "refused the user or the password")
	as.User, as.Path = url.UserPassword("postgres", "secret"), "/none"
	refused(t, as.String(), "does not exist: create it")
	exec(t, conn, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
	as.Path = "/ascii"
	refused(t, as.String(), "needs a database with the encoding UTF8, and this one has SQL_ASCII")
	exec(t, conn, "ALTER ROLE "+schema+" SET default_transaction_read_only = on")
	as.User, as.Path = url.UserPassword(schema, "secret"), "/postgres"
	a := open(t, as.String(), "")
	require.ErrorContains(t, a.Check(t.Context()), "read-only")
	require.NoError(t, a.Close())
}

// A database that cannot be reached is no error at start: calls fail until it is there.
func TestADatabaseThatIsLate(t *testing.T) {
	t.Parallel()
	a := open(t, "postgres://user:secret@"+redistest.Nobody(t)+"/x", "")
	defer a.Close() //nolint:errcheck // returns none
	err := a.Check(t.Context())
	require.ErrorContains(t, err, "cannot be reached")
	require.NotContains(t, err.Error(), "secret")
	require.ErrorContains(t, a.PutRuns(t.Context(), []*world.RunCopy{archivetest.SixEvents(archivetest.RunID(archivetest.At, 1))}), "cannot be reached")
}

// What was stored is there after a crash of the server, and the archive connects again.
func TestACrashLosesNothing(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	a := open(t, server.URL(), "")
	defer a.Close() //nolint:errcheck // returns none
	for i := range 3 {
		c := archivetest.SixEvents(archivetest.RunID(archivetest.At, i))
		require.NoError(t, a.PutRuns(t.Context(), []*world.RunCopy{c}))
		if i == 0 {
			require.NoError(t, server.Stop())
		} else {
			require.NoError(t, server.Crash())
		}
		require.Error(t, a.Check(t.Context()))
		require.NoError(t, server.Restart())
		// Connections that have died are replaced.
		require.Eventually(t, func() bool { return a.Check(t.Context()) == nil }, patience, tick)
		require.Equal(t, archivetest.All(t, c.Parts), archivetest.All(t, a.Parts(t.Context(), c.Run.RunID, world.ArchivedParts{Kind: world.PartAll})))
	}
}
