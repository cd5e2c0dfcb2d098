package httpapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	// callProtocol is the subprotocol of a call socket: what its messages are.
	callProtocol = "world-redis.calls.1"
	// maxCallMessage is the size of a message, in bytes; a bundle has at most 64 calls of 32 KB.
	maxCallMessage = 4 << 20
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

// callSockets counts the open sockets, which http.Server lets go of.
type callSockets struct {
	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

// add reports false when no more are taken.
func (c *callSockets) add() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open.Add(1)
	}
	return !c.closed
}

// wait takes no more and waits until none is open; ctx bounds it.
func (c *callSockets) wait(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	none := make(chan struct{})
	go func() {
		c.open.Wait()
		close(none)
	}()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// callSocket serves GET /v1/calls for a WebSocket. Each binary message is four bytes that name it,
// whichever the client likes, and the body of a POST /v1/calls in CBOR; it is answered, in any order, by
// one with the same four bytes, two bytes of the status, and the body that the POST would have had.
// A request of HTTP costs both sides more than most calls do.
//
// The socket belongs to the caller that opened it: its token was looked at then. When the service stops, it
// sends the text "retire", answers what it has, and hangs up.
func (s *Server) callSocket(c echo.Context) error {
	if !asksForWebSocket(c.Request()) {
		return invalid("GET /v1/calls is for WebSockets with the subprotocol %s; a single bundle is a POST", callProtocol)
	}
	if s.isDraining() || !s.sockets.add() {
		return world.Errorf(world.CodeUnavailable, "the service is stopping")
	}
	defer s.sockets.open.Done()
	conn, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{Subprotocols: []string{callProtocol}})
	if err != nil {
		s.log.Debug("a call socket was refused", slog.String("error", err.Error()))
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	if conn.Subprotocol() != callProtocol {
		return conn.Close(websocket.StatusPolicyViolation, "the subprotocol must be "+callProtocol)
	}
	conn.SetReadLimit(maxCallMessage)
	ctx, cancel := context.WithCancel(c.Request().Context())
	socket := &callSocket{server: s, conn: conn, outer: c.Request().WithContext(ctx), slots: make(chan struct{}, callsAtOnce)}
	var retiring sync.WaitGroup
	retiring.Go(func() {
		defer cancel()
		socket.retireAtTheEnd(ctx)
	})
	err = socket.readAll(ctx)
	s.log.Debug("a call socket ended", slog.Any("error", err))
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
	server *Server
	conn   *websocket.Conn
	outer  *http.Request // the one that opened it, whose caller all calls are of
	slots  chan struct{} // one is taken by each message that is worked on
	ended  sync.Once
}

// readAll reads messages and lets them be answered until the connection ends.
func (k *callSocket) readAll(ctx context.Context) error {
	var room bytes.Buffer
	var working sync.WaitGroup // nobody waits for it: that is what the slots are for
	for {
		kind, reader, err := k.conn.Reader(ctx)
		if err != nil {
			return err
		}
		if room.Reset(); room.Cap() > largeMessage {
			room = bytes.Buffer{}
		}
		if _, err := room.ReadFrom(reader); err != nil {
			return err
		}
		if kind != websocket.MessageBinary || room.Len() < messageIDSize {
			return k.conn.Close(websocket.StatusUnsupportedData, "a message is four bytes and a bundle, in binary")
		}
		message := bytes.Clone(room.Bytes()) // its calls keep parts of it
		select {
		case k.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		working.Add(1)
		k.server.crew.start(task{done: &working, make: func(int) {
			defer func() { <-k.slots }()
			k.answer(ctx, message[:messageIDSize:messageIDSize], message[messageIDSize:])
		}})
	}
}

func (k *callSocket) answer(ctx context.Context, id []byte, body world.Raw) {
	start := time.Now()
	status, encoded := k.server.answerMessage(k.outer, id, body)
	binary.BigEndian.PutUint16(encoded[messageIDSize:], uint16(status)) //nolint:gosec // three digits
	k.server.deps.Observe(methodMessage, "/v1/calls", status, time.Since(start))
	ctx, cancel := context.WithTimeout(ctx, bodyPatience)
	defer cancel()
	if err := k.conn.Write(ctx, websocket.MessageBinary, encoded); err != nil {
		k.server.log.Debug("an answer could not be sent", slog.String("error", err.Error()))
	}
}

// answerMessage returns what to send, with room for the status.
func (s *Server) answerMessage(outer *http.Request, id []byte, body world.Raw) (status int, encoded []byte) {
	answers, err := s.serveMessage(outer, body)
	if err != nil {
		refusal := world.Errorf(world.CodeInternal, "internal error, see the service's log")
		if !errors.As(err, &refusal) {
			s.log.Error("internal error", slog.String("route", "GET /v1/calls"), slog.String("error", err.Error()))
		}
		status, name := wireForm(refusal.Code)
		return status, append(append(id, 0, 0), encodeError(*refusal, status, name)...)
	}
	defer releaseAll(answers)
	e := newEncoder(answerHeaderSize + sizes(answers, bundledSize) + 128)
	e.bytes = append(append(e.bytes, id...), 0, 0)
	writeBundle(e, &answers)
	return http.StatusOK, e.bytes
}

func (s *Server) serveMessage(outer *http.Request, body world.Raw) ([]bundledAnswer, error) {
	item, err := s.codec.item(body)
	if err != nil {
		return nil, err
	}
	return s.serveBundle(outer, item)
}

// retireAtTheEnd ends the socket in good order when the service stops; ctx is done when it has ended.
func (k *callSocket) retireAtTheEnd(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-k.server.draining:
	}
	if err := k.conn.Write(ctx, websocket.MessageText, []byte(retireText)); err != nil {
		return
	}
	select {
	case <-ctx.Done(): // the client has hung up
		return
	case <-time.After(k.server.retireGrace):
	}
	k.end()
	_ = k.conn.Close(websocket.StatusGoingAway, "the service stops")
}

// end waits until nothing is worked on, and lets nothing more begin.
func (k *callSocket) end() {
	k.ended.Do(func() {
		for range cap(k.slots) {
			k.slots <- struct{}{}
		}
	})
}
