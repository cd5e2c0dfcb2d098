package world

// PageRequest asks for one page of a list.
type PageRequest struct {
	Limit  int    // 0: the list's default
	Cursor string // from an earlier page of the same list; empty means from the beginning
	Order  Order  // empty: the list's default
}

// Order is the direction of a list.
type Order string

// The two directions.
const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

// Page is one page of a list. It is limited in bytes, too, so it may have fewer entries than requested although
// HasMore is set. Cursor is the position of the last item of a page that is not empty, even when HasMore is false, so
// a caller can ask later for what came after it. A cursor is a position, not a reference to a row: it stays valid
// after the row is gone. A cursor that cannot be read is refused with CodeInvalid.
// gone. One that cannot be read is answered with CodeInvalid.
type Page[T any] struct {
	Data    []T
	Cursor  string
	HasMore bool
}
