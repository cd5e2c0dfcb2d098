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
	// Protocol is the WebSocket subprotocol of call sockets.
	Protocol = "world-redis.calls.1"
	// MaxMessage is the largest size of a message, in bytes. A bundle of the client has at most 64 calls of 32 KB.
	MaxMessage = 4 << 20
	// socketShare is the divisor for one socket's part of its namespace's memory.
	socketShare = 4
	// messageRoom is counted for each message in addition to its bytes, for its calls and their small answers.
	messageRoom = 16 << 10
	// socketIdle is how long a socket may be silent. The client uses a socket for at most ten minutes.
	socketIdle = 15 * time.Minute
	// largeMessage is the size of the read buffer, in bytes, above which it is not reused.
	largeMessage = 256 << 10
	// CallsAtOnce is how many messages of one socket are served at a time. The next one is not read before one is done.
	CallsAtOnce = 64
	// RetireText asks the client to send nothing more, and to close the connection when it has its answers.
	RetireText = "retire"
	// retireGrace is how long the client may take for that.
	retireGrace = time.Second
)

// callSocket is one open socket.
type callSocket struct {
	sockets *Server
	bundles *bundle.Server
	conn    *websocket.Conn
	memory  *memory.Share // what its messages and answers hold
	slots   chan struct{} // each message that is served takes one
	ended   sync.Once
	room    bytes.Buffer // the message that is being read
	// lastData is when data last came, in nanoseconds; negative within a message.
	lastData atomic.Int64
}

// readAll reads messages and starts to serve them, until the connection ends.
func (k *callSocket) readAll(ctx context.Context) error {
	var working sync.WaitGroup // needed by workers; the slots limit and await the work
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
		message := bytes.Clone(k.room.Bytes()) // its calls keep slices of it
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

// readMessage reads a message into k.room. While it waits for memory, nothing is read, so the client stops sending.
// over is set if there was no memory in time; then only the beginning of the message is kept.
func (k *callSocket) readMessage(ctx context.Context, reader io.Reader, h *memory.Holding) (over, err error) {
	if k.room.Reset(); k.room.Cap() > largeMessage {
		k.room = bytes.Buffer{}
	}
	steady := timedReader{k, reader}
	part := io.LimitedReader{R: steady, N: budget.Small}
	if _, err = k.room.ReadFrom(&part); err != nil {
		return nil, err
	}
	over = h.Take(ctx, int64(k.room.Len())+messageRoom)
	for over == nil && part.N == 0 {
		k.idle()
		// The part to read, and its copy that is served.
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
	k.idle()
	return over, err
}

// timedReader records when data came.
type timedReader struct {
	socket *callSocket
	reader io.Reader
}

// Read implements io.Reader.
func (r timedReader) Read(p []byte) (int, error) {
	r.socket.lastData.Store(-time.Now().UnixNano())
	return r.reader.Read(p)
}

// idle records that the message is complete or waits for memory, so no data has to come.
func (k *callSocket) idle() {
	if at := k.lastData.Load(); at < 0 {
		k.lastData.Store(-at)
	}
}

// stuck reports whether a message stopped arriving, or the socket was silent for too long.
func (k *callSocket) stuck(now time.Time) bool {
	at := k.lastData.Load()
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
	// The write fails if the client reads nothing for too long (internal/callerconn).
	if err := k.conn.Write(ctx, websocket.MessageBinary, encoded); err != nil {
		k.sockets.calls.Log.Debug("an answer could not be sent", slog.String("error", err.Error()))
	}
}

// retireAtEnd closes the socket in good order when the service stops or nobody uses it. ctx ends with the socket.
func (k *callSocket) retireAtEnd(ctx context.Context) {
	if !k.watch(ctx) {
		return
	}
	if err := k.conn.Write(ctx, websocket.MessageText, []byte(RetireText)); err != nil {
		return
	}
	select {
	case <-ctx.Done(): // the client has closed it
		return
	case <-time.After(k.sockets.RetireGrace):
	}
	k.end()
	_ = k.conn.Close(websocket.StatusGoingAway, "the service stops, or nobody used the socket")
}

// watch returns true when the socket should end in good order. It cuts off a socket whose message stopped arriving.
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
			if k.lastData.Load() > 0 {
				return true
			}
			_ = k.conn.CloseNow()
			return false
		}
	}
}

// end waits until no message is being served, and allows no new one.
func (k *callSocket) end() {
	k.ended.Do(func() {
		for range cap(k.slots) {
			k.slots <- struct{}{}
		}
	})
}
