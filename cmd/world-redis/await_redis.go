package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/pause"
	"github.com/world-redis/world-redis/internal/redisconn"
)

// redisPause is the time between two checks whether Redis is ready.
const redisPause = 250 * time.Millisecond

// awaitRedis waits for a Redis that is running but does not accept commands yet. A large one loads its data for
// minutes, and a service that exited in the meantime would be restarted again and again. It also waits for a cluster
// that lacks the master with one of our format keys. Until then the API's address answers /healthz as usual, and
// everything else with 503. A Redis that is not running, or that refuses this service, is an error immediately.
func awaitRedis(ctx context.Context, conn *redisconn.Conn, c config, logger *slog.Logger) (err error) {
	namespaces, err := c.namespaces()
	if err != nil {
		return err
	}
	err = takesCommands(ctx, conn, namespaces)
	if !isPassing(ctx, conn, err) {
		return err
	}
	logger.Warn("Redis is not ready; the service starts as soon as it is, and is not ready until then",
		slog.String("redis", conn.Address), slog.String("reason", err.Error()))
	closeRoom, err := openWaitingRoom(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRoom()) }()
	began := time.Now()
	for ticker := time.NewTicker(redisPause); ; {
		select {
		case <-ctx.Done():
			ticker.Stop()
			return ctx.Err()
		case <-ticker.C:
		}
		if err := takesCommands(ctx, conn, namespaces); !isPassing(ctx, conn, err) {
			ticker.Stop()
			if err == nil {
				logger.Info("Redis is ready", slog.Duration("waited", time.Since(began).Round(time.Second)))
			}
			return err
		}
	}
}

// whileReady runs start, and repeats it if Redis became unavailable in between.
func whileReady(ctx context.Context, conn *redisconn.Conn, c config, logger *slog.Logger, start func() error) error {
	err := start()
	for isPassing(ctx, conn, err) && pause.For(ctx, redisPause) {
		if err = awaitRedis(ctx, conn, c, logger); err == nil {
			err = start()
		}
	}
	return err
}

// isPassing reports whether a Redis that fails with err will accept commands later.
func isPassing(ctx context.Context, conn *redisconn.Conn, err error) bool {
	return redisconn.NotReady(err) || conn.LacksNodes(ctx, err)
}

// takesCommands reads the keys that the start needs: a Redis may answer PING and still refuse those.
func takesCommands(ctx context.Context, conn *redisconn.Conn, namespaces []namespace) error {
	if err := conn.Ping(ctx); err != nil {
		return err
	}
	for _, n := range namespaces {
		if err := conn.Client.Exists(ctx, formatKey(n.keyPrefix)).Err(); err != nil {
			return fmt.Errorf("the Redis at %s cannot read keys: %w", conn.Address, err)
		}
	}
	return nil
}

// openWaitingRoom answers at the API's address until the API does.
func openWaitingRoom(ctx context.Context, address string) (closeRoom func() error, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		Handler: http.HandlerFunc(waitingRoom),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() error {
		if err := server.Close(); err != nil {
			return err
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

func waitingRoom(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusServiceUnavailable, map[string]any{"error": map[string]any{
		"name": "WorkflowWorldError", "status": http.StatusServiceUnavailable, "code": world.CodeUnavailable,
		"message": "Redis is not ready yet: it is loading its data, or waiting for a master", "retryAfter": 1,
	}}
	if r.URL.Path == "/healthz" {
		status, answer = http.StatusOK, map[string]any{"status": "ok"}
	} else {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // a caller that has gone needs no answer
}
