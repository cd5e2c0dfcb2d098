package memory

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// ForGood is how long a live read waits for room: its answer has begun and it has nothing else to do.
const ForGood = time.Duration(math.MaxInt64)

// liveRoom is for what live reads hold: half of the namespace's memory, so that readers who take nothing leave room for
// bodies and lists. Pages of chunks and what people see of them have limits of their own, since a reader has a page while
// it waits for the other.
type liveRoom struct {
	pages, views *budget.Pool
}

// Views is what values for people are counted in, in the namespace that a call belongs to.
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

// loan is what a page of live reads holds.
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
