// Package format writes and reads runs as files. docs/archive.md describes the format.
//
// A run is one member of a gzip file (RFC 1952), so a file may have many runs one after the other, and gzip's checksum covers each.
// The content is a CBOR sequence (RFC 8742). Each item is an encoded item within an item (tag 24), so that its length is known before
// it is read: a header, the run, its parts in the order of [world.RunPart], and an end with how many parts of each kind there were.
package format
