// Package postgres keeps archived runs in a PostgreSQL database.
//
// The tables are described in migrations. They are in a schema of their own (world_redis, or ?schema= in the URL), which several
// namespaces of a service may share. Rows of a run refer to it by a number, its key. A run that is stored again gets a new one,
// and the rows of the old one go in the same transaction, so no reader sees parts of both.
//
// Reads are made in pages of bounded size, each of them one query: no connection is held while a caller uses what it has read.
package postgres
