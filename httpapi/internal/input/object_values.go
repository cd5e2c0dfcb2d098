package input

import (
	"slices"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// Required returns a text, which must be present.
func (o *Object) Required(key string, limit int) string {
	s := o.Text(key, limit)
	if s == "" && o.Err == nil {
		o.Err = refuse.Invalid("%s.%s is missing", o.Path, key)
	}
	return s
}

// Payload returns an item of any type, which must be present.
func (o *Object) Payload(key string) world.Raw {
	item := o.Get(key)
	if item == nil && o.Err == nil {
		o.Err = refuse.Invalid("%s.%s is missing", o.Path, key)
	}
	return item
}

// Mapping returns an encoded map, nil if absent.
func (o *Object) Mapping(key string) world.Raw {
	item := o.Get(key)
	if item != nil && cboritem.MajorOf(item) != cboritem.MajorMap {
		o.Fail(key, "must be an object")
	}
	return item
}

// Namespace returns a namespace of queue names, "" if absent.
func (o *Object) Namespace(key string) string {
	ns := o.Text(key, MaxName)
	if ns != "" && !world.ValidNamespace(ns) {
		o.Fail(key, "must be a lower-case letter, then such letters and digits")
	}
	return ns
}

// HasName reports whether a list of texts contains one. The list may be absent, and may contain texts that later
// versions define.
func (o *Object) HasName(key, wanted string) bool {
	if o.Get(key) == nil {
		return false
	}
	return slices.Contains(o.Texts(key, maxTexts, func(string) bool { return true }, "is not text"), wanted)
}

// Seconds returns a whole number of seconds, 0 if absent.
func (o *Object) Seconds(key string, most int64) time.Duration {
	n := o.Whole(key)
	if n == nil {
		return 0
	}
	if *n < 0 || *n > most {
		o.Fail(key, "must be from 0 to "+strconv.FormatInt(most, 10))
		return 0
	}
	return time.Duration(*n) * time.Second
}
