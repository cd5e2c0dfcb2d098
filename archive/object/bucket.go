package object

import (
	"context"
	"errors"
	"io"
)

// errNoObject means that there is no such object.
var errNoObject = errors.New("there is no such object")

// bucket holds objects. Names are paths with slashes.
type bucket interface {
	// put stores objects. Nobody sees a part of an object. When it returns nil, all are safe.
	put(ctx context.Context, objects []object) error
	// open reads an object from its beginning, or returns errNoObject.
	open(ctx context.Context, name string) (io.ReadCloser, error)
	// list returns the names of the folders and objects in a folder, without it, in ascending order. A folder that does not exist is
	// empty.
	list(ctx context.Context, folder string) (folders, objects []string, err error)
	// remove removes an object, if it is there.
	remove(ctx context.Context, name string) error
	// check writes, reads and removes an object.
	check(ctx context.Context) error
	// where names an object in errors.
	where(name string) string
	close() error
}

// object is an object to be stored. write may be called again.
type object struct {
	name  string
	write func(w io.Writer) error
}
