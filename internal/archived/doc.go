// Package archived reads runs from Redis, and on from there in the archive.
//
// A run is stored in the archive before it is removed from Redis. So Redis is read first: a run that is not there, or no longer, is
// in the archive if it exists. While it is in both, Redis answers. The archive is only read after Redis has said that it has no
// such run, so other calls cost what they cost without an archive; a list of runs is read from both.
//
// What a caller sees of a run does not change when the run moves: cursors are positions, and the same in both.
package archived
