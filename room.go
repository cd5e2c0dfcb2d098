package world

import "context"

// Room is asked for the memory of an answer before that is read.
type Room interface {
	// MakeRoom returns CodeOverBudget when there is no room for so many bytes.
	MakeRoom(ctx context.Context, bytes int64) error
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

// OverBudget is the refusal of a call for which there is no memory at the moment. It can be made again.
func OverBudget(what string) *Error {
	return &Error{Code: CodeOverBudget, Message: what + "; try again", RetryAfter: 1}
}
