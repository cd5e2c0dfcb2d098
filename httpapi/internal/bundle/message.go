package bundle

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

// A message is four bytes that identify it, and a bundle. Its answer is these four bytes, two bytes with the status, and the answers.
const (
	MessageIDSize    = 4 // bytes
	AnswerHeaderSize = MessageIDSize + 2
)

// AnswerMessage makes the calls of a message and returns what to send. The caller writes the status into it. over is an error of
// reading the message, nil if there was none.
func (b *Server) AnswerMessage(ctx context.Context, id []byte, body world.Raw, over error) (status int, encoded []byte) {
	var calls []bundledCall
	err := over
	if err == nil {
		calls, err = b.makeMessage(ctx, body)
	}
	if err != nil {
		refusal := world.Errorf(world.CodeInternal, "internal error, see the service's log")
		if !errors.As(err, &refusal) {
			b.calls.Log.Error("internal error", slog.String("route", "GET /v1/calls"), slog.String("error", err.Error()))
		}
		status, name := refuse.WireForm(refusal.Code)
		return status, append(append(id, 0, 0), refuse.Encode(*refusal, status, name)...)
	}
	defer releaseAll(calls)
	e := wire.NewEncoder(AnswerHeaderSize + wire.Sizes(calls, bundledSize) + 128)
	e.Bytes = append(append(e.Bytes, id...), 0, 0)
	writeBundle(e, calls)
	return http.StatusOK, e.Bytes
}

func (b *Server) makeMessage(ctx context.Context, body world.Raw) ([]bundledCall, error) {
	item, err := b.codec.CBOR.Item(body)
	if err != nil {
		return nil, err
	}
	return b.make(ctx, item)
}
