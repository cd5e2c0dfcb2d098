package leader

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/ids"
	"github.com/world-redis/world-redis/internal/luascript"
)

//go:embed lua
var luaFiles embed.FS

// times are the intervals and limits. Tests use shorter ones.
type times struct {
	lease time.Duration // how long an unrenewed lease lasts
	// spare is how much earlier the leader considers its term over, because its clock and Redis's differ.
	spare time.Duration
	// beat is how often the leader announces itself. This traffic also keeps each replica's subscription connection
	// from sending a ping after 3 s of silence.
	beat time.Duration
	// After silence without a beat the others request the lease. After quiet they do the work themselves that a
	// leader does for them.
	silence, quiet time.Duration
	pause          time.Duration // after a failed call
}

var usual = times{
	lease: 12 * time.Second, spare: 2 * time.Second, beat: 2500 * time.Millisecond,
	silence: 10 * time.Second, quiet: 6 * time.Second, pause: time.Second,
}

const (
	// beatsRenewal is after how many beats the lease is renewed.
	beatsRenewal = 2
	// callTime limits one call.
	callTime = 2 * time.Second
)

// Config sets up a [Lease].
type Config struct {
	Prefix string         // of every key of the namespace
	Bell   *doorbell.Bell // the process's; something has to run it
	Clock  world.Clock    // nil means the system's clock
	Logger *slog.Logger   // nil disables logging
}

// Lease implements [world.Leadership] with a lease in Redis.
type Lease struct {
	redis        redis.UniversalClient
	log          *slog.Logger
	times        times
	bell         *doorbell.Bell
	holder       string
	lead, resign *luascript.Script
	lease, term  string // keys
	channel      string

	mu      sync.Mutex
	now     func() time.Time
	number  int64         // of the term in which this process leads; 0 if it does not lead
	until   time.Time     // when the term is over
	ended   chan struct{} // closed at the end of the term
	started chan struct{} // closed when this process begins to lead
	heard   time.Time     // when another leader was last heard; zero if never, or if it has stopped
	vacant  chan struct{} // capacity 1: the lease may be free
}

var _ world.Leadership = (*Lease)(nil)

// New loads the scripts and returns a Lease. [Lease.Run] requests it.
func New(ctx context.Context, client redis.UniversalClient, c Config) (*Lease, error) {
	if c.Clock == nil {
		c.Clock = world.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Lease{
		redis: client, log: c.Logger, times: usual, bell: c.Bell, holder: ids.NewMinter(c.Clock).New().String(), now: c.Clock.Now,
		lease: c.Prefix + "lead:{lead}", term: c.Prefix + "lead:{lead}:term", channel: c.Prefix + "lead:{lead}:bell",
		started: make(chan struct{}), vacant: make(chan struct{}, 1),
	}
	for name, script := range map[string]**luascript.Script{"lead": &l.lead, "resign": &l.resign} {
		var err error
		if *script, err = load(name); err != nil {
			return nil, fmt.Errorf("leader: %w", err)
		}
	}
	if err := luascript.Register(ctx, client, l.lead, l.resign); err != nil {
		return nil, fmt.Errorf("leader: %w", err)
	}
	return l, nil
}

func load(name string) (*luascript.Script, error) { return luascript.Load(luaFiles, "lua", name) }

// Run requests the lease and keeps it until ctx ends. Then it gives the lease up immediately.
func (l *Lease) Run(ctx context.Context) error {
	l.bell.Join(l.channel, l)
	defer l.bell.Leave(l.channel)
	defer l.giveUp(ctx)
	for beat := 0; ctx.Err() == nil; beat++ {
		wait := l.untilSilent()
		switch {
		case l.Term() != 0 && beat%beatsRenewal != 0:
			l.tell(ctx)
			wait = l.times.beat
		case wait == 0 || l.Term() != 0:
			var renewed bool
			if wait, renewed = l.ask(ctx); renewed {
				l.tell(ctx)
				beat = 0
			} else {
				beat = beatsRenewal - 1 // the next beat requests the lease again
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.vacant:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}

// ask requests or renews the lease, and returns how long to wait. leads is true if this process has it.
func (l *Lease) ask(ctx context.Context) (wait time.Duration, leads bool) {
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	asked := l.now()
	number, left, err := l.call(call)
	switch {
	case err != nil:
		l.log.DebugContext(ctx, "the leader's lease could not be requested; this is retried", slog.Any("error", err))
		l.lapse(ctx)
		return l.times.pause, false
	case number == 0:
		l.lose(ctx)
		return max(0, min(left, l.times.lease)) + l.times.pause/10, false
	default:
		l.hold(ctx, number, asked.Add(l.times.lease-l.times.spare))
		return l.times.beat, true
	}
}

func (l *Lease) call(ctx context.Context) (number int64, left time.Duration, err error) {
	reply, err := l.lead.Run(ctx, l.redis, []string{l.lease, l.term}, l.holder, l.times.lease.Milliseconds())
	if err != nil {
		return 0, 0, err
	}
	if len(reply) != 2 {
		return 0, 0, luascript.ErrShortReply
	}
	if number, err = luascript.Int(reply[0]); err != nil {
		return 0, 0, err
	}
	ms, err := luascript.Int(reply[1])
	return number, time.Duration(ms) * time.Millisecond, err
}

// tell announces to the others that this process leads. If publishing is not allowed, they ask.
func (l *Lease) tell(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := l.redis.Publish(call, l.channel, l.holder).Err(); err != nil && ctx.Err() == nil {
		l.log.DebugContext(ctx, "the leader could not announce itself; the other replicas ask", slog.Any("error", err))
	}
}

// giveUp lets another process lead immediately.
func (l *Lease) giveUp(ctx context.Context) {
	led := l.Term() != 0
	l.lose(ctx)
	if !led {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := l.resign.Run(ctx, l.redis, []string{l.lease, l.channel}, l.holder); err != nil {
		l.log.DebugContext(ctx, "the leader's lease could not be given up; it expires by itself", slog.Any("error", err))
	}
}

// hold records that this process leads in a term until a given time.
func (l *Lease) hold(ctx context.Context, number int64, until time.Time) {
	l.lapse(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.number != 0 && l.number != number {
		l.end()
	}
	l.until = until
	if l.number == number {
		return
	}
	l.number, l.ended, l.heard = number, make(chan struct{}), time.Time{}
	close(l.started)
	l.log.InfoContext(ctx, "this replica leads: it does the background work of the namespace", slog.String("term", strconv.FormatInt(number, 10)))
}

// lapse ends the term if it is over by this process's clocks.
func (l *Lease) lapse(ctx context.Context) {
	l.mu.Lock()
	over := l.number != 0 && !l.stands()
	l.mu.Unlock()
	if over {
		l.lose(ctx)
	}
}

// lose records that this process does not lead.
func (l *Lease) lose(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.number == 0 {
		return
	}
	l.log.InfoContext(ctx, "this replica no longer leads; another one does the background work of the namespace", slog.String("term", strconv.FormatInt(l.number, 10)))
	l.end()
}

// end ends the term. It is called with mu held.
func (l *Lease) end() {
	close(l.ended)
	l.number, l.until, l.ended, l.started = 0, time.Time{}, nil, make(chan struct{})
}

// stands reports whether the term continues. It is called with mu held. The monotonic clock stops while a machine
// sleeps, and the wall clock can be set back, so the term is over when either of them says so.
func (l *Lease) stands() bool {
	now := l.now()
	return l.number != 0 && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

// Term returns the number of the term in which this process leads; 0 if it does not lead.
func (l *Lease) Term() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stands() {
		return 0
	}
	return l.number
}

// Relieved reports whether another process leads and was heard within the last seconds.
func (l *Lease) Relieved() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.stands() && !l.heard.IsZero() && l.now().Sub(l.heard) < l.times.quiet
}

// untilSilent returns how long to wait for a sign of another leader before requesting the lease.
func (l *Lease) untilSilent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard.IsZero() {
		return 0
	}
	return max(0, l.times.silence-l.now().Sub(l.heard))
}

// Ready implements [doorbell.Listener].
func (l *Lease) Ready() {}

// Ring implements [doorbell.Listener]: the leader is alive, or has just given up the lease.
func (l *Lease) Ring(holder string) {
	if holder == l.holder {
		return
	}
	l.mu.Lock()
	l.heard = time.Time{}
	if holder != "" {
		l.heard = l.now()
	}
	l.mu.Unlock()
	if holder == "" {
		select {
		case l.vacant <- struct{}{}:
		default:
		}
	}
}
