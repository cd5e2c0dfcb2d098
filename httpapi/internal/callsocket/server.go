// Package callsocket serves WebSockets over which bundles of calls come as messages.
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

// Server serves call sockets, and counts those that are open, which http.Server lets go of.
type Server struct {
	calls   *transport.Calls
	codec   *httpbody.Codec
	workers *workers.Pool
	// RetireGrace is how long the client of a call socket may take to hang up.
	RetireGrace time.Duration

	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

// New returns what serves the sockets of all namespaces.
func New(calls *transport.Calls, codec *httpbody.Codec, workers *workers.Pool) *Server {
	return &Server{calls: calls, codec: codec, workers: workers, RetireGrace: retireGrace}
}

// Serve makes a WebSocket of a request, and answers its messages until it ends. Each binary message is four bytes that name it,
// whichever the client likes, and the body of a POST /v1/calls in CBOR; it is answered, in any order, by
// one with the same four bytes, two bytes of the status, and the body that the POST would have had.
// A request of HTTP costs both sides more than most calls do.
//
// The socket belongs to the caller that opened it: its token was looked at then. When the service stops, it
// sends the text "retire", answers what it has, and hangs up.
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
	socket.heard.Store(time.Now().UnixNano())
	var retiring sync.WaitGroup
	retiring.Go(func() {
		defer cancel()
		socket.retireAtTheEnd(ctx)
	})
	err = socket.readAll(ctx)
	c.calls.Log.Debug("a call socket ended", slog.Any("error", err))
	cancel() // as when the connection of a request breaks: nobody is there to be answered
	retiring.Wait()
	socket.end()
	return nil
}

// add reports false when no more are taken.
func (c *Server) add() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open.Add(1)
	}
	return !c.closed
}

// Wait takes no more and waits until none is open; ctx bounds it.
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
