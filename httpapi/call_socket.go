package httpapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/budget"
	"github.com/world-redis/world-redis/internal/wire"
)

const (
	// callProtocol is the subprotocol of a call socket: what its messages are.
	callProtocol = "world-redis.calls.1"
	// maxCallMessage is the size of a message, in bytes; a bundle has at most 64 calls of 32 KB.
	maxCallMessage = 4 << 20
	// socketShare is which part of its namespace's memory one socket may use.
	socketShare = 4
	// messageRoom is what a message counts for besides its own bytes: its calls and their small answers.
	messageRoom = 16 << 10
	// socketIdle is how long a socket may be silent. The client uses one for ten minutes at most.
	socketIdle = 15 * time.Minute
	// largeMessage is the size of one, in bytes, after which its memory is not kept for the next.
	largeMessage = 256 << 10
	// callsAtOnce is how many messages of one socket are worked on; the next waits in the network.
	callsAtOnce = 64
	// retireText asks the client to send nothing more here, and to hang up when it has its answers.
	retireText = "retire"
	// retireGrace is how long it may take over that before the service hangs up.
	retireGrace = time.Second

	// methodMessage is what messages are counted under; the socket itself counts as a GET when it ends.
	methodMessage = "WEBSOCKET"

	messageIDSize    = 4 // bytes, before each message
	answerHeaderSize = messageIDSize + 2
)

// callSocket serves GET /v1/calls for a WebSocket. Each binary message is four bytes that name it,
// whichever the client likes, and the body of a POST /v1/calls in CBOR; it is answered, in any order, by
// one with the same four bytes, two bytes of the status, and the body that the POST would have had.
// A request of HTTP costs both sides more than most calls do.
//
// The socket belongs to the caller that opened it: its token was looked at then. When the service stops, it
// sends the text "retire", answers what it has, and hangs up.
func (a *api) callSocket(c echo.Context) error {
	if a.noBundles || a.noCallSockets {
		return world.Errorf(world.CodeNotFound, "this service takes no call sockets")
	}
	if !asksForWebSocket(c.Request()) {
		return refuse.Invalid("GET /v1/calls is for WebSockets with the subprotocol %s; a single bundle is a POST", callProtocol)
	}
	if a.isDraining() || !a.sockets.add() {
		return world.Errorf(world.CodeUnavailable, "the service is stopping")
	}
	defer a.sockets.open.Done()
	conn, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{Subprotocols: []string{callProtocol}})
	if err != nil {
		a.log.Debug("a call socket was refused", slog.String("error", err.Error()))
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	if conn.Subprotocol() != callProtocol {
		return conn.Close(websocket.StatusPolicyViolation, "the subprotocol must be "+callProtocol)
	}
	conn.SetReadLimit(maxCallMessage)
	ctx, cancel := context.WithCancel(c.Request().Context())
	socket := &callSocket{api: a, conn: conn, memory: a.memory.OfSocket(socketShare), slots: make(chan struct{}, callsAtOnce)}
	socket.heard.Store(time.Now().UnixNano())
	var retiring sync.WaitGroup
	retiring.Go(func() {
		defer cancel()
		socket.retireAtTheEnd(ctx)
	})
	err = socket.readAll(ctx)
	a.log.Debug("a call socket ended", slog.Any("error", err))
	cancel() // as when the connection of a request breaks: nobody is there to be answered
	retiring.Wait()
	socket.end()
	return nil
}

func asksForWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// callSocket is one open socket.
type callSocket struct {
	api    *api
	conn   *websocket.Conn
	memory *memory.Share // what its messages and answers hold
	slots  chan struct{} // one is taken by each message that is worked on
	ended  sync.Once
	room   bytes.Buffer // for the message that is read
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
		if kind != websocket.MessageBinary || k.room.Len() < messageIDSize {
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
		k.api.crew.start(task{done: &working, make: func(int) {
			defer func() {
				h.Release()
				<-k.slots
			}()
			k.answer(ctx, h, message[:messageIDSize:messageIDSize], message[messageIDSize:], over)
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
		k.room.Truncate(min(k.room.Len(), messageIDSize))
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
		return now.UnixNano()+at > int64(k.api.Patience)
	}
	return now.UnixNano()-at > int64(socketIdle) && len(k.slots) == 0
}

func (k *callSocket) answer(ctx context.Context, h *memory.Holding, id []byte, body world.Raw, over error) {
	start := time.Now()
	status, encoded := k.api.answerMessage(world.WithRoom(ctx, h), id, body, over)
	binary.BigEndian.PutUint16(encoded[messageIDSize:], uint16(status)) //nolint:gosec // three digits
	k.api.observe(methodMessage, pathCalls, status, time.Since(start))
	h.Keep(int64(len(encoded)))
	// The connection gives up on a client that takes nothing (internal/callerconn), and lasts while it takes something.
	if err := k.conn.Write(ctx, websocket.MessageBinary, encoded); err != nil {
		k.api.log.Debug("an answer could not be sent", slog.String("error", err.Error()))
	}
}

// answerMessage returns what to send, with room for the status.
func (a *api) answerMessage(ctx context.Context, id []byte, body world.Raw, over error) (status int, encoded []byte) {
	var calls []bundledCall
	err := over
	if err == nil {
		calls, err = a.serveMessage(ctx, body)
	}
	if err != nil {
		refusal := world.Errorf(world.CodeInternal, "internal error, see the service's log")
		if !errors.As(err, &refusal) {
			a.log.Error("internal error", slog.String("route", "GET /v1/calls"), slog.String("error", err.Error()))
		}
		status, name := refuse.WireForm(refusal.Code)
		return status, append(append(id, 0, 0), refuse.Encode(*refusal, status, name)...)
	}
	defer releaseAll(calls)
	e := wire.NewEncoder(answerHeaderSize + wire.Sizes(calls, bundledSize) + 128)
	e.Bytes = append(append(e.Bytes, id...), 0, 0)
	writeBundle(e, calls)
	return http.StatusOK, e.Bytes
}

func (a *api) serveMessage(ctx context.Context, body world.Raw) ([]bundledCall, error) {
	item, err := a.CBOR.Item(body)
	if err != nil {
		return nil, err
	}
	return a.serveBundle(ctx, item)
}

// retireAtTheEnd ends the socket in good order when the service stops; ctx is done when it has ended.
func (k *callSocket) retireAtTheEnd(ctx context.Context) {
	if !k.watch(ctx) {
		return
	}
	if err := k.conn.Write(ctx, websocket.MessageText, []byte(retireText)); err != nil {
		return
	}
	select {
	case <-ctx.Done(): // the client has hung up
		return
	case <-time.After(k.api.retireGrace):
	}
	k.end()
	_ = k.conn.Close(websocket.StatusGoingAway, "the service stops, or nobody used the socket")
}

// watch returns true when the socket is to end in good order. One amid whose message nothing comes is cut off.
func (k *callSocket) watch(ctx context.Context) bool {
	look := time.NewTicker(k.api.Patience / 4)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-k.api.draining:
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
