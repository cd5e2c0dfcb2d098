package world

// PageRequest asks for one page of a list.
type PageRequest struct {
	Limit  int    // 0: the list's default
	Cursor string // from an earlier page of the same list; empty: from the beginning
	Order  Order  // empty: the list's default
}

// Order is the direction of a list.
type Order string

// The two directions.
const (
	Ascending  Order = "asc"
	Descending Order = "desc"
)

// Page is one page of a list. It may have fewer entries than were asked for and yet HasMore: it is limited in bytes, too.
// Cursor is the position of the last item of a page that
// is not empty, also when HasMore is false, so that a caller can ask later what came
// after it. Cursors are positions, not row references: they stay valid when the row is
// gone. One that cannot be read is answered with CodeInvalid.
type Page[T any] struct {
	Data    []T
	Cursor  string
	HasMore bool
}
