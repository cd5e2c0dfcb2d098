package streaming

import (
	"strconv"
	"strings"
)

// A step that closed its stream and runs again writes behind that end. The end is then a record between
// chunks, with an index of its own (an inner end). A reader that starts at or before it reads up to it.

// view is what there is for a reader that starts at some index.
type view struct {
	count int64 // of records before the end that the reader comes to, or before what comes next
	done  bool  // there is such an end
	next  int64 // index behind it, if it is an inner one; else 0
}

// ended reports whether a reader that has everything before next has all there is for it.
func (v view) ended(next int64) bool { return v.done && next >= v.count }

// viewFrom is what a reader finds that starts at from; ends are the indexes of the inner ends, in order. The
// script chunk_page does the same.
func viewFrom(from int64, whole view, ends string) view {
	for text := range strings.FieldsSeq(ends) {
		end, err := strconv.ParseInt(text, 10, 64)
		if err != nil || end >= whole.count { // left by a purge of a replica that does not know them
			return whole
		}
		if end >= from {
			return view{count: end, done: true, next: end + 1}
		}
	}
	return whole
}
