// Package archive keeps runs that leave Redis: it opens the archive that a setting names, and copies runs into it.
//
// The archives themselves are in archive/postgres and archive/object; archive/format is the form of a run as a file.
package archive
