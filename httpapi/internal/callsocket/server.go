// Package callsocket serves call sockets: WebSockets whose messages are bundles.
package callsocket

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/bundle"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/memory"
	"github.com/world-redis/world-redis/httpapi/internal/transport"
	"github.com/world-redis/world-redis/httpapi/internal/workers"
)

// Server serves call sockets. It counts the open ones, because http.Server does not wait for them at shutdown.
type Server struct {
	calls   *transport.Calls
	codec   *httpbody.Codec
	workers *workers.Pool
	// RetireGrace is how long a client may take to close its socket after the service asked for that.
	RetireGrace time.Duration

	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

// New returns a Server for the sockets of all namespaces.
func New(calls *transport.Calls, codec *httpbody.Codec, workers *workers.Pool) *Server {
	return &Server{calls: calls, codec: codec, workers: workers, RetireGrace: retireGrace}
}

// Serve turns a request into a WebSocket and answers its messages until it ends. Each binary message has four bytes, which
// the client chooses, and the body of a POST /v1/calls in CBOR. Its answer has the same four bytes, two bytes with the status,
// and the body that the POST would get; answers come in any order.
// An HTTP request costs both sides more than most calls do.
//
// The token is checked at the handshake and covers all calls. When the service stops, it sends the text "retire",
// answers the messages that it has, and closes the connection.
func (c *Server) Serve(w http.ResponseWriter, r *http.Request, bundles *bundle.Server, room *memory.Share) error {
	if c.calls.IsDraining() || !c.add() {
		return world.Errorf(world.CodeUnavailable, "the service is stopping")
	}
	defer c.open.Done()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Protocol}})
	if err != nil {
		c.calls.Log.Debug("a call socket was refused", slog.String("error", err.Error()))
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	if conn.Subprotocol() != Protocol {
		return conn.Close(websocket.StatusPolicyViolation, "the subprotocol must be "+Protocol)
	}
	conn.SetReadLimit(MaxMessage)
	ctx, cancel := context.WithCancel(r.Context())
	socket := &callSocket{sockets: c, bundles: bundles, conn: conn, memory: room.OfSocket(socketShare), slots: make(chan struct{}, CallsAtOnce)}
	socket.lastData.Store(time.Now().UnixNano())
	var retiring sync.WaitGroup
	retiring.Go(func() {
		defer cancel()
		socket.retireAtEnd(ctx)
	})
	err = socket.readAll(ctx)
	c.calls.Log.Debug("a call socket ended", slog.Any("error", err))
	cancel() // as if the connection of a request breaks
	retiring.Wait()
	socket.end()
	return nil
}

// add counts a new socket. It returns false once Wait was called.
func (c *Server) add() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open.Add(1)
	}
	return !c.closed
}

// Wait accepts no more sockets and waits until none is open or ctx is done.
func (c *Server) Wait(ctx context.Context) error {
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
