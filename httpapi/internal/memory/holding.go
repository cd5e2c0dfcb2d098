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
	// roomPatience is how long a call waits for memory before it is refused.
	roomPatience = 5 * time.Second
	// maxBundleAnswer limits the answers of a bundle together, in bytes. An answer that is larger is the only one.
	maxBundleAnswer = 4 << 20
	// copies is how often a value is in memory while its answer is made: as it was read, as it is written, and in a
	// bundle once more.
	copies = 3
)

// Holding counts the bytes that one request or message holds: its body as it arrives, values read for its answer, and the answer
// until it is written. It is the [world.Room] of its calls. The calls of a bundle share one, so only
// one of them reads a large value at a time.
type Holding struct {
	mu       sync.Mutex
	hold     budget.Hold
	patience time.Duration
	bundled  bool  // its answers together have a limit
	answers  int64 // their bytes so far
	waited   bool  // without success, so the other calls of the bundle do not wait
	ahead    int64 // the part of answers that MakeRoom counted before it was read
	live     liveRoom
}

// Hold starts to count a call. The caller releases the Holding.
func (s *Share) Hold() *Holding {
	return &Holding{hold: budget.Of(s.Pool), patience: s.Patience, live: s.live}
}

// Bundle says that the Holding is that of a bundle, whose answers together have a limit.
func (h *Holding) Bundle() { h.bundled = true }

// Of returns the Holding of the call that a context belongs to. If it has none, nothing is counted.
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
		patience = 0 // bundles that hold memory and wait for more could wait for each other
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
		return world.OverBudget("the answers of a bundle may have at most 4 MiB together; make this call alone")
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
		return world.OverBudget("the memory for calls is used up (WORKFLOW_WORLD_MEMORY); try again")
	}
	return err
}

// smallAnswer is the size up to which an answer in a bundle is not counted: memory for small answers is counted with the
// message.
const smallAnswer = 4 << 10

// KeepAnswer counts an answer of n bytes to a call of a bundle, which is in memory already. On an error, the caller drops the
// answer.
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

// Settle changes what is held to n bytes, those of an answer that is about to be written. An answer that repeats the body
// is counted even if there is no memory: the call is done, and a repeat would get the same answer. Its size is bounded by
// the body, which was counted.
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

// Keep releases what is above n bytes.
func (h *Holding) Keep(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold.Shrink(n)
}

// Release releases everything.
func (h *Holding) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold.Release()
}
