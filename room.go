package world

import "context"

// Room is asked for the memory of an answer before that is read.
type Room interface {
	// MakeRoom returns CodeOverBudget when there is no room for so many bytes.
	MakeRoom(ctx context.Context, bytes int64) error
	// GiveBack returns bytes that were asked for and not read.
	GiveBack(bytes int64)
	// Lend reserves memory for a part of an answer that lasts as long as its reader: most bytes if they are free now,
	// otherwise it waits until least bytes are. Its only error is that of ctx.
	Lend(ctx context.Context, least, most int64) (Loan, error)
}

// Loan is memory that was reserved by [Room.Lend].
type Loan interface {
	// Bytes is its size.
	Bytes() int64
	// Keep shrinks the loan to bytes and gives the rest back; 0 ends it.
	Keep(bytes int64)
}

type roomKey struct{}

// WithRoom returns a context whose calls ask room before they read more than a little. nil: there is always enough.
func WithRoom(ctx context.Context, room Room) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// RoomOf returns what calls with this context ask, nil for nothing.
func RoomOf(ctx context.Context) Room {
	room, _ := ctx.Value(roomKey{}).(Room)
	return room
}

// MakeRoom asks the [Room] of the context, if it has one.
func MakeRoom(ctx context.Context, bytes int64) error {
	if room := RoomOf(ctx); room != nil {
		return room.MakeRoom(ctx, bytes)
	}
	return nil
}

// GiveBack tells the [Room] of the context, if it has one.
func GiveBack(ctx context.Context, bytes int64) {
	if room := RoomOf(ctx); room != nil && bytes > 0 {
		room.GiveBack(bytes)
	}
}

// Lend asks the [Room] of the context; without one there is always room for the most.
func Lend(ctx context.Context, least, most int64) (Loan, error) {
	if room := RoomOf(ctx); room != nil {
		return room.Lend(ctx, least, most)
	}
	return boundless(most), nil
}

// boundless is a loan where nothing is counted.
type boundless int64

func (b boundless) Bytes() int64 { return int64(b) }

func (boundless) Keep(int64) {}

// OverBudget is the refusal of a call for which there is no memory at the moment. It can be made again.
func OverBudget(what string) *Error {
	return &Error{Code: CodeOverBudget, Message: what + "; try again", RetryAfter: 1}
}
