package asynqbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

// forever is a time limit of asynq that nothing meets: a step may take days, and asynq must not take a message back on its own.
const forever = 100 * 366 * 24 * time.Hour

// Bridge is one queue of asynq.
type Bridge struct {
	queue   string
	log     *slog.Logger
	backend *backend
	client  *asynq.Client
}

// New returns the bridge of a queue.
func New(client redis.UniversalClient, queue string, log *slog.Logger) *Bridge {
	return newBridge(newBackend(client, queue, refusals(log)), queue, log)
}

func newBridge(b *backend, queue string, log *slog.Logger) *Bridge {
	return &Bridge{queue: queue, log: log, backend: b, client: asynq.NewClientFromRedisClient(b)}
}

// refusals logs each kind of call that is refused, once: asynq makes some of them again at once.
func refusals(log *slog.Logger) refused {
	const most = 100
	var mu sync.Mutex
	said := map[string]struct{}{}
	return func(what, key string) {
		mu.Lock()
		defer mu.Unlock()
		if _, again := said[what]; again || len(said) == most {
			return
		}
		said[what] = struct{}{}
		log.Error("asynq made a call that the service does not know, and the service refused it; "+
			"run a build with the asynq version of its go.mod (docs/decisions/asynq.md)", slog.String("call", what), slog.String("key", key))
	}
}

// captured is where a message goes that asynq has encoded.
type captured struct{ message []byte }

type capturedKey struct{}

// capture takes what asynq would add to its queue.
func capture(ctx context.Context, encoded any) error {
	into, ok := ctx.Value(capturedKey{}).(*captured)
	message, isBytes := encoded.([]byte)
	if !ok || !isBytes {
		return errUnknownCall
	}
	into.message = message
	return nil
}

var errNotEncoded = errors.New("asynq has not encoded the message")

// Encode returns a message as it lies in Redis, where asynq's tools can read it. The first message of a process puts the
// queue on asynq's list of queues.
func (b *Bridge) Encode(ctx context.Context, kind world.Kind, id string, m world.Message) ([]byte, error) {
	payload, err := encodeEnvelope(m)
	if err != nil {
		return nil, err
	}
	var c captured
	_, err = b.client.EnqueueContext(context.WithValue(ctx, capturedKey{}, &c), asynq.NewTask(string(kind), payload),
		asynq.TaskID(id), asynq.Queue(b.queue), asynq.MaxRetry(math.MaxInt32), asynq.Timeout(forever))
	if err == nil && c.message == nil {
		err = errNotEncoded
	}
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return c.message, nil
}

// Worker is what asynq's worker calls.
type Worker struct {
	Slots int // calls of Deliver at a time
	// Next returns the next message as Encode made it, and waits for one. ok is false when there will be none.
	Next func() (encoded string, ok bool)
	// Deliver delivers a message and stores the outcome before it returns. err says why the message cannot be read.
	Deliver func(id string, m world.Message, err error)
	// Announce is called before asynq's list of servers gets this one, and again while it serves; server is its name there. nil
	// disables it.
	Announce func(ctx context.Context, server string, until time.Time) error
	// Ending is closed when Next returns no more messages.
	Ending <-chan struct{}
}

// Serve has asynq work on the queue. stop waits until each Deliver has returned; Next must return no more messages by then.
func (b *Bridge) Serve(w Worker) (stop func(), err error) {
	return b.serve(w, asynq.Config{
		Concurrency: w.Slots,
		// After an empty dequeue, which Next returns only to end.
		TaskCheckInterval: time.Millisecond,
		// What the upkeep of the queue does in asynq's place need not be asked for often.
		DelayedTaskCheckInterval: time.Hour,
		JanitorInterval:          time.Hour,
		ShutdownTimeout:          forever,
	}, func(id string, m world.Message, err error) error {
		w.Deliver(id, m, err)
		return nil
	})
}

// serve is Serve with a handler whose error asynq acts on.
func (b *Bridge) serve(w Worker, c asynq.Config, deliver func(id string, m world.Message, err error) error) (stop func(), err error) {
	c.Queues, c.Logger, c.LogLevel = map[string]int{b.queue: 1}, logger{b.log}, asynq.InfoLevel
	b.backend.worker = w
	server := asynq.NewServerFromRedisClient(b.backend, c)
	// asynq would end the handler's context after a lease of its own, which counts for nothing here.
	err = server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		m, err := decodeEnvelope(t.Payload())
		return deliver(id, m, err)
	}))
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", b.queue, err)
	}
	return server.Shutdown, nil
}
