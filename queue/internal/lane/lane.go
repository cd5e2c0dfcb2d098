package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/luascript"
	"github.com/world-redis/world-redis/queue/internal/asynqbridge"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// RedisTimeout is how long a call to Redis may take.
const RedisTimeout = 3 * time.Second

// ErrLeaseLost is the cause with which the context of a claim ends when its lease has lapsed.
var ErrLeaseLost = errors.New("the lease of the message lapsed")

// Config says what a Lane works with.
type Config struct {
	Kind        world.Kind
	Name        string // of the asynq queue
	KeyPrefix   string // of all keys but asynq's own
	Concurrency int    // slots

	Redis   redis.UniversalClient
	Send    *luascript.Runner
	Scripts *script.Set
	Clock   world.Clock
	Log     *slog.Logger

	Process *Process
	Phases  Phases
	Outage  *Outage

	// Relieved reports whether another process sweeps the queues for all.
	Relieved func() bool
	// Recovered is called for each message that is put back because its lease has lapsed.
	Recovered func()
	// Announce is that of asynqbridge.Worker.
	Announce func(ctx context.Context, server string, until time.Time) error
	// AppRegistered is called when an app has registered in any process.
	AppRegistered func()
}

// Phases are the contexts that end one after the other when the queue stops.
type Phases struct {
	Claiming   context.Context // ends first: no more messages are claimed
	Delivering context.Context // ends with the grace period: running deliveries are cut
	Writing    context.Context // ends last: outcomes are no longer written
}

// Lane is one of the two queues in this process. The fields are those of its Config.
type Lane struct {
	Kind        world.Kind
	Name        string
	Concurrency int
	Keys        Keys

	cfg     Config
	log     *slog.Logger
	bridge  *asynqbridge.Bridge
	bell    *bell
	due     *dueTimer
	backlog *backlog
	clock   redisClock
	lost    lostClaims
	work    sync.WaitGroup // deliveries, and what Go runs

	waiting atomic.Bool   // next waits for a message
	adding  sync.RWMutex  // read-locked from BeginHandOver to HandOver
	came    chan struct{} // gets an item when the buffer was filled for next while it waited

	mu                sync.Mutex          // of the following fields
	buffer            []*Claim            // claimed, not yet given to asynq
	given             map[string]*Claim   // given to asynq, not yet to the handler; by message id
	claims            map[*Claim]struct{} // all messages that this process has a lease of
	registrationsSeen string              // the counter of registrations when it was last read, see wake.lua
	quiet             <-chan struct{}     // the bell when the list was last seen empty
	long              longRunning
	lookFrom          int // where the next sweep looks for messages without a lease
}

// New returns a lane that does nothing before Serve and Upkeep.
func New(cfg Config) *Lane {
	return &Lane{
		Kind: cfg.Kind, Name: cfg.Name, Concurrency: cfg.Concurrency, Keys: KeysOf(cfg.KeyPrefix, cfg.Name),
		cfg: cfg, log: cfg.Log, bridge: asynqbridge.New(cfg.Redis, cfg.Name, cfg.Log),
		bell: newBell(), due: newDueTimer(cfg.Clock), backlog: newBacklog(cfg.Concurrency), came: make(chan struct{}, 1),
		given: map[string]*Claim{}, claims: map[*Claim]struct{}{}, long: newLongRunning(),
	}
}

// Serve claims messages and calls deliver with each, in as many slots as there are, until stop is called. deliver gets an error
// with a message that cannot be decoded. It calls Finish before it returns, so asynq has nothing left to write.
func (l *Lane) Serve(deliver func(c *Claim, m world.Message, unreadable error)) (stop func(), err error) {
	return l.bridge.Serve(asynqbridge.Worker{
		Slots: l.most(), // next keeps to the slots
		Next:  l.next,
		Deliver: func(id string, m world.Message, unreadable error) {
			l.work.Add(1)
			defer l.work.Done()
			if c := l.received(id); c != nil { // nil: this lane did not claim it
				deliver(c, m, unreadable)
			}
		},
		Announce: l.cfg.Announce,
		Ending:   l.cfg.Phases.Claiming.Done(),
	})
}

// Drain waits for the deliveries, and puts back what was claimed and will not be delivered.
func (l *Lane) Drain() {
	l.work.Wait()
	l.adding.Lock() // waits for HandOver
	defer l.adding.Unlock()
	l.releaseBuffer()
	if l.lost.exist() {
		l.undoLost()
	}
}

// Go runs f in the background. Drain waits for it.
func (l *Lane) Go(f func()) { l.work.Go(f) }

// Encode returns a message as it lies in Redis.
func (l *Lane) Encode(ctx context.Context, id string, m world.Message) ([]byte, error) {
	return l.bridge.Encode(ctx, l.Kind, id, m)
}

// Notify is called when there is a message that is due at a time; 0 is now.
func (l *Lane) Notify(due world.Millis) {
	if due == 0 {
		l.bell.ring()
		return
	}
	l.due.note(due)
}

func (l *Lane) now() world.Millis { return world.MillisOf(l.cfg.Clock.Now()) }
