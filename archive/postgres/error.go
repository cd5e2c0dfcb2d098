package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/world-redis/world-redis"
)

// failure returns an error in one sentence that says what to do, without the password.
func failure(err error) error {
	var refused *pgconn.PgError
	var parse *pgconn.ParseConfigError
	var connect *pgconn.ConnectError
	switch {
	case err == nil, errors.As(err, new(*Error)), errors.As(err, new(*world.CopyError)):
		return err
	case errors.Is(err, context.Canceled):
		return &Error{Message: "the call to the archive was cancelled", Cause: err, passes: true}
	case errors.As(err, &refused):
		return ofServer(refused, err)
	case errors.As(err, &parse): // its text has no password
		return &Error{Message: "the address of the archive cannot be read", Cause: err}
	case errors.As(err, &connect):
		c := connect.Config
		return &Error{Message: fmt.Sprintf("PostgreSQL at %s:%d cannot be reached", c.Host, c.Port), Cause: err, passes: true}
	default:
		return &Error{Message: "the connection to PostgreSQL failed", Cause: err, passes: true}
	}
}

// ofServer names what the server refused.
func ofServer(refused *pgconn.PgError, err error) error {
	e := &Error{Cause: err}
	switch class := refused.Code[:min(2, len(refused.Code))]; {
	case class == "28":
		e.Message = "PostgreSQL refused the user or the password in the address of the archive"
	case refused.Code == "3D000":
		e.Message = "the database in the address of the archive does not exist: create it"
	case refused.Code == "42501":
		e.Message = "the user of the archive lacks a right: let it own the schema, or create one in the database"
	case class == "53":
		e.Message, e.passes = "PostgreSQL has no room for the archive: disk, memory or connections", true
	case class == "57", class == "08", class == "40", class == "55":
		e.Message, e.passes = "PostgreSQL could not complete a call of the archive now", true
	case class == "25" && refused.Code == "25006":
		e.Message, e.passes = "the archive is read-only: let the address name the primary server of PostgreSQL, not a standby", true
	default:
		e.Message = "PostgreSQL refused a call of the archive"
	}
	return e
}

// Error is a failure of the archive. Message has no secret; the cause is for the log.
type Error struct {
	Message string
	Cause   error
	passes  bool // the same call may succeed later
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// passes reports whether an error may be gone later without anybody's help.
func passes(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.passes
}
