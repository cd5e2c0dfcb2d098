package world

import "context"

// Room reserves memory for an answer before the answer is read.
type Room interface {
	// MakeRoom reserves bytes, or returns CodeOverBudget if they are not free.
	MakeRoom(ctx context.Context, bytes int64) error
	// GiveBack returns reserved bytes that were not used.
	GiveBack(bytes int64)
	// Lend reserves memory for a part of an answer that lasts as long as its reader: most bytes if they are free now,
	// otherwise it waits until least bytes are. Its only error is that of ctx.
	Lend(ctx context.Context, least, most int64) (Loan, error)
}

// Loan is memory reserved by [Room.Lend].
type Loan interface {
	// Bytes is its size.
	Bytes() int64
	// Keep shrinks the loan to bytes and returns the rest; 0 ends the loan.
	Keep(bytes int64)
}

type roomKey struct{}

// WithRoom returns a context whose calls reserve memory from room before they read more than a little. nil disables
// the limit.
func WithRoom(ctx context.Context, room Room) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// RoomOf returns the Room of the context; nil if there is none.
func RoomOf(ctx context.Context) Room {
	room, _ := ctx.Value(roomKey{}).(Room)
	return room
}

// MakeRoom reserves memory from the [Room] of the context, if it has one.
func MakeRoom(ctx context.Context, bytes int64) error {
	if room := RoomOf(ctx); room != nil {
		return room.MakeRoom(ctx, bytes)
	}
	return nil
}

// GiveBack returns memory to the [Room] of the context, if it has one.
func GiveBack(ctx context.Context, bytes int64) {
	if room := RoomOf(ctx); room != nil && bytes > 0 {
		room.GiveBack(bytes)
	}
}

// Lend borrows from the [Room] of the context; without one, it always grants the most.
func Lend(ctx context.Context, least, most int64) (Loan, error) {
	if room := RoomOf(ctx); room != nil {
		return room.Lend(ctx, least, most)
	}
	return boundless(most), nil
}

// boundless is a loan that is not counted.
type boundless int64

func (b boundless) Bytes() int64 { return int64(b) }

func (boundless) Keep(int64) {}

// OverBudget is the refusal of a call for which there is no memory at the moment. The same call may succeed later.
func OverBudget(what string) *Error {
	return &Error{Code: CodeOverBudget, Message: what + "; try again", RetryAfter: 1}
}
