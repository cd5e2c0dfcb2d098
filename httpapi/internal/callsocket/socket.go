package callsocket

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/httpapi/internal/workers"
	"github.com/world-redis/world-redis/internal/budget"
)

const (
	// Protocol is the subprotocol of a call socket: what its messages are.
	Protocol = "world-redis.calls.1"
	// MaxMessage is the size of a message, in bytes; a bundle has at most 64 calls of 32 KB.
	MaxMessage = 4 << 20
	// socketShare is which part of its namespace's memory one socket may use.
	socketShare = 4
	// messageRoom is what a message counts for besides its own bytes: its calls and their small answers.
	messageRoom = 16 << 10
	// socketIdle is how long a socket may be silent. The client uses one for ten minutes at most.
	socketIdle = 15 * time.Minute
	// largeMessage is the size of one, in bytes, after which its memory is not kept for the next.
	largeMessage = 256 << 10
	// CallsAtOnce is how many messages of one socket are worked on; the next waits in the network.
	CallsAtOnce = 64
	// RetireText asks the client to send nothing more here, and to hang up when it has its answers.
	RetireText = "retire"
	// retireGrace is how long it may take over that before the service hangs up.
	retireGrace = time.Second
)

// callSocket is one open socket.
type callSocket struct {
	sockets *Server
	bundles *bundle.Server
	conn    *websocket.Conn
	memory  *memory.Share // what its messages and answers hold
	slots   chan struct{} // one is taken by each message that is worked on
	ended   sync.Once
	room    bytes.Buffer // for the message that is read
	// heard is when something came last, in nanoseconds; negative: amid a message.
	heard atomic.Int64
}

// readAll reads messages and lets them be answered until the connection ends.
func (k *callSocket) readAll(ctx context.Context) error {
	var working sync.WaitGroup // nobody waits for it: that is what the slots are for
	for {
		kind, reader, err := k.conn.Reader(ctx)
		if err != nil {
			return err
		}
		h := k.memory.Hold()
		h.Bundle()
		over, err := k.readMessage(ctx, reader, h)
		if err != nil {
			h.Release()
			return err
		}
		if kind != websocket.MessageBinary || k.room.Len() < bundle.MessageIDSize {
			h.Release()
			return k.conn.Close(websocket.StatusUnsupportedData, "a message is four bytes and a bundle, in binary")
		}
		message := bytes.Clone(k.room.Bytes()) // its calls keep parts of it
		select {
		case k.slots <- struct{}{}:
		case <-ctx.Done():
			h.Release()
			return ctx.Err()
		}
		working.Add(1)
		k.sockets.workers.Start(workers.Task{Done: &working, Make: func(int) {
			defer func() {
				h.Release()
				<-k.slots
			}()
			k.answer(ctx, h, message[:bundle.MessageIDSize:bundle.MessageIDSize], message[bundle.MessageIDSize:], over)
		}})
	}
}

// readMessage reads a message into the socket's room. Where there is no memory for it, which it then waits for, the
// client is not read, and so sends no more. over says that it was not there in time: of the message only the beginning was kept.
func (k *callSocket) readMessage(ctx context.Context, reader io.Reader, h *memory.Holding) (over, err error) {
	if k.room.Reset(); k.room.Cap() > largeMessage {
		k.room = bytes.Buffer{}
	}
	steady := heardReader{k, reader}
	part := io.LimitedReader{R: steady, N: budget.Small}
	if _, err = k.room.ReadFrom(&part); err != nil {
		return nil, err
	}
	over = h.Take(ctx, int64(k.room.Len())+messageRoom)
	for over == nil && part.N == 0 {
		k.rests()
		// What is read now, and the copy of it that is worked on.
		if over = h.Take(ctx, 2*int64(k.room.Len())); over != nil {
			break
		}
		part.N = int64(k.room.Len())
		if _, err = k.room.ReadFrom(&part); err != nil {
			return nil, err
		}
	}
	if over != nil {
		k.room.Truncate(min(k.room.Len(), bundle.MessageIDSize))
		_, err = io.Copy(io.Discard, steady)
	}
	k.rests()
	return over, err
}

// heardReader notes when something came.
type heardReader struct {
	socket *callSocket
	reader io.Reader
}

// Read implements io.Reader.
func (r heardReader) Read(p []byte) (int, error) {
	r.socket.heard.Store(-time.Now().UnixNano())
	return r.reader.Read(p)
}

// rests says that nothing is expected to come.
func (k *callSocket) rests() {
	if at := k.heard.Load(); at < 0 {
		k.heard.Store(-at)
	}
}

// stuck reports whether a message stopped arriving, or nothing came for so long that nobody uses the socket.
func (k *callSocket) stuck(now time.Time) bool {
	at := k.heard.Load()
	if at < 0 {
		return now.UnixNano()+at > int64(k.sockets.codec.Patience)
	}
	return now.UnixNano()-at > int64(socketIdle) && len(k.slots) == 0
}

func (k *callSocket) answer(ctx context.Context, h *memory.Holding, id []byte, body world.Raw, over error) {
	start := time.Now()
	status, encoded := k.bundles.AnswerMessage(world.WithRoom(ctx, h), id, body, over)
	binary.BigEndian.PutUint16(encoded[bundle.MessageIDSize:], uint16(status)) //nolint:gosec // three digits
	k.sockets.calls.Observe(transport.MethodMessage, bundle.Path, status, time.Since(start))
	h.Keep(int64(len(encoded)))
	// The connection gives up on a client that takes nothing (internal/callerconn), and lasts while it takes something.
	if err := k.conn.Write(ctx, websocket.MessageBinary, encoded); err != nil {
		k.sockets.calls.Log.Debug("an answer could not be sent", slog.String("error", err.Error()))
	}
}

// retireAtTheEnd ends the socket in good order when the service stops; ctx is done when it has ended.
func (k *callSocket) retireAtTheEnd(ctx context.Context) {
	if !k.watch(ctx) {
		return
	}
	if err := k.conn.Write(ctx, websocket.MessageText, []byte(RetireText)); err != nil {
		return
	}
	select {
	case <-ctx.Done(): // the client has hung up
		return
	case <-time.After(k.sockets.RetireGrace):
	}
	k.end()
	_ = k.conn.Close(websocket.StatusGoingAway, "the service stops, or nobody used the socket")
}

// watch returns true when the socket is to end in good order. One amid whose message nothing comes is cut off.
func (k *callSocket) watch(ctx context.Context) bool {
	look := time.NewTicker(k.sockets.codec.Patience / 4)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-k.sockets.calls.Draining:
			return true
		case now := <-look.C:
			if !k.stuck(now) {
				continue
			}
			if k.heard.Load() > 0 {
				return true
			}
			_ = k.conn.CloseNow()
			return false
		}
	}
}

// end waits until nothing is worked on, and lets nothing more begin.
func (k *callSocket) end() {
	k.ended.Do(func() {
		for range cap(k.slots) {
			k.slots <- struct{}{}
		}
	})
}
