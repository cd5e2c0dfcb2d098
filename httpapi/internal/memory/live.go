package memory

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// ForGood is how long a live read waits for memory: its answer has begun, so it cannot be refused any more.
const ForGood = time.Duration(math.MaxInt64)

// liveRoom is the memory of live reads: half of the namespace's memory, so that slow readers leave some for
// bodies and lists. Pages of chunks and values for people have separate limits, because a reader holds a page while
// it waits for memory for a value.
type liveRoom struct {
	pages, views *budget.Pool
}

// Views returns the memory of values for people, in the namespace of a call.
func Views(ctx context.Context) *budget.Pool { return Of(ctx).live.views }

func newLiveRoom(p *budget.Pool) liveRoom {
	return liveRoom{pages: p.Part(p.Limit() / 8 * 3), views: p.Part(p.Limit() / 8)}
}

// Lend implements world.Room.
func (h *Holding) Lend(ctx context.Context, least, most int64) (world.Loan, error) {
	l := &loan{hold: budget.Of(h.live.pages)}
	if most > least && l.hold.Grow(ctx, most, 0) == nil {
		return l, nil
	}
	return l, l.hold.Grow(ctx, least, ForGood)
}

// loan counts a page of a live read.
type loan struct {
	mu   sync.Mutex
	hold budget.Hold
}

// Bytes implements world.Loan.
func (l *loan) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold.Bytes()
}

// Keep implements world.Loan.
func (l *loan) Keep(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold.Shrink(n)
}
