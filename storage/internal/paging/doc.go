// Package paging reads sorted sets in pages.
//
// A cursor is made of a position and not of a row, so it stays valid when the row is gone.
package paging
