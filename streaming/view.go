package streaming

import (
	"strconv"
	"strings"
)

// A step that closed its stream and runs again writes after that end. The end is then a record between chunks, with
// its own index (an inner end). A reader that starts at or before it reads up to it.

// view is what a stream holds for a reader that starts at a given index.
type view struct {
	count int64 // of records before the end that applies to the reader, or of all records if there is none
	done  bool  // there is such an end
	next  int64 // index after it, if it is an inner end; otherwise 0
}

// ended reports whether a reader that has everything before next has reached that end.
func (v view) ended(next int64) bool { return v.done && next >= v.count }

// viewFrom returns the view of a reader that starts at from. ends are the indexes of the inner ends, in order. The
// script chunk_page does the same.
func viewFrom(from int64, whole view, ends string) view {
	for text := range strings.FieldsSeq(ends) {
		end, err := strconv.ParseInt(text, 10, 64)
		if err != nil || end >= whole.count { // left by a purge of a replica that does not know inner ends
			return whole
		}
		if end >= from {
			return view{count: end, done: true, next: end + 1}
		}
	}
	return whole
}
