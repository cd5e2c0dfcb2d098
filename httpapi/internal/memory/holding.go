package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

const (
	// roomPatience is how long a call waits for room before it is refused.
	roomPatience = 5 * time.Second
	// maxBundleAnswer is what the answers of a bundle may have together, in bytes. One that is larger comes alone.
	maxBundleAnswer = 4 << 20
	// copies is how often a value is in memory while its answer is made: as it was read, and as it is written, in a
	// bundle twice.
	copies = 3
)

// Holding counts what one request or message holds: its body as it arrives, what is read for its answer, and the answer
// until it is written. It is the [world.Room] of what the call reads. The calls of a bundle have one together, so only
// one of them reads something large at a time.
type Holding struct {
	mu       sync.Mutex
	hold     budget.Hold
	patience time.Duration
	bundled  bool  // its answers have a limit together
	answers  int64 // bytes of them, so far
	waited   bool  // in vain, so the other calls of the bundle do not
	ahead    int64 // of these, for which room was made before they were read
	live     liveRoom
}

// Hold begins to count a call, which releases what it returns.
func (s *Share) Hold() *Holding {
	return &Holding{hold: budget.Of(s.Pool), patience: s.Patience, live: s.live}
}

// Bundle says that the answers of several calls are counted, which have a limit together.
func (h *Holding) Bundle() { h.bundled = true }

// Of is that of the call that a context belongs to; without one nothing is counted.
func Of(ctx context.Context) *Holding {
	if h, ok := world.RoomOf(ctx).(*Holding); ok {
		return h
	}
	return new(Holding)
}

// MakeRoom implements world.Room.
func (h *Holding) MakeRoom(ctx context.Context, n int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.fits(n); err != nil {
		return err
	}
	patience := h.patience
	if h.bundled && (h.answers > 0 || h.waited) {
		patience = 0 // bundles that have some and wait for more would wait for each other
	}
	if err := h.grow(ctx, copies*n, patience); err != nil {
		h.waited = true
		return err
	}
	h.answers += n
	h.ahead += n
	return nil
}

// GiveBack implements world.Room.
func (h *Holding) GiveBack(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers, h.ahead = max(0, h.answers-n), max(0, h.ahead-n)
	h.hold.Shrink(max(0, h.hold.Bytes()-copies*n))
}

// fits returns an error if n more bytes would exceed the limit of a bundle's answers.
func (h *Holding) fits(n int64) error {
	if h.bundled && h.answers > 0 && h.answers+n > maxBundleAnswer {
		return world.OverBudget("the answers of a bundle have 4 MiB at most together; make this call by itself")
	}
	return nil
}

// Take counts n bytes of a body.
func (h *Holding) Take(ctx context.Context, n int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.grow(ctx, n, h.patience)
}

func (h *Holding) grow(ctx context.Context, n int64, patience time.Duration) error {
	err := h.hold.Grow(ctx, n, patience)
	if errors.Is(err, budget.ErrOver) {
		return world.OverBudget("the service holds as many bytes for its callers as it may (WORKFLOW_WORLD_MEMORY)")
	}
	return err
}

// smallAnswer is the size of a bundled answer up to which it is not counted by itself: its message has been counted
// with room for such ones.
const smallAnswer = 4 << 10

// KeepAnswer counts an answer of n bytes to a call of a bundle, which is there already. The answer is dropped if there is no room
// for it.
func KeepAnswer(ctx context.Context, n int) error {
	if n <= smallAnswer {
		return nil
	}
	return Of(ctx).answered(ctx, int64(n))
}

func (h *Holding) answered(ctx context.Context, n int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := min(n, h.ahead)
	h.ahead -= known
	if n -= known; n <= smallAnswer {
		return nil
	}
	if err := h.fits(n); err != nil {
		return err
	}
	h.answers += n
	return h.grow(ctx, n, 0)
}

// Settle has it hold n bytes: those of an answer that is about to be written. An answer that says again what the body
// said is counted in any case: the call is done, and would be answered alike if it were made again. It is bounded by the
// body, for which there was room.
func (h *Holding) Settle(ctx context.Context, n int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.hold.Bytes()
	switch more := n - held; {
	case more <= 0:
		h.hold.Shrink(n)
		return nil
	case n <= 2*held+budget.Small:
		h.hold.Force(more)
		return nil
	default:
		return h.grow(ctx, more, h.patience)
	}
}

// Keep gives back what is more than n bytes.
func (h *Holding) Keep(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold.Shrink(n)
}

// Release gives back all of it.
func (h *Holding) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold.Release()
}
