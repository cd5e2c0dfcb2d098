// Package object keeps archived runs as objects in a folder or in a bucket of S3, each run in one object of the format in
// archive/format. docs/archive.md says where a run's object is.
//
// A run is found by its id, and runs are listed by the time in their ids, because that is what the names of the objects say. There is
// no index, so nothing has to be kept consistent with the objects, and a copy of the folder is a copy of the archive.
package object
