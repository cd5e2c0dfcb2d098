package queue

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long a message waits before it is delivered again. The zero value of
// a field means its default.
type Backoff struct {
	// FailedFirst doubles with each failed delivery up to FailedMax: 1 s and 60 s, so that
	// the 49 deliveries after which an app gives up span about 44 minutes.
	FailedFirst, FailedMax time.Duration
	// RetryAfterMax bounds what an app may ask for with Retry-After: 1 h.
	RetryAfterMax time.Duration
	// Quick are the pauses between tries to connect within one delivery: 50 ms and 200 ms.
	Quick []time.Duration
	// UnreachableFirst doubles up to UnreachableMax while an app cannot be reached:
	// 500 ms and 3 s.
	UnreachableFirst, UnreachableMax time.Duration
	// NoTarget is the wait for an app to register, which ends when one does: 15 s.
	NoTarget time.Duration
	// CrashesMost is how many times the app's process may end with a flow's message as the only suspect in
	// its hands before the run is failed: 15. From the fifth time on the next delivery waits:
	// CrashFirst doubles with each up to CrashMax: 2 s and 30 s.
	CrashesMost          int
	CrashFirst, CrashMax time.Duration
	// DeadAfter failed deliveries a message is set aside: 60. Apps give up at 49.
	DeadAfter int
}

func (b Backoff) withDefaults() Backoff {
	setDefault(&b.FailedFirst, time.Second)
	setDefault(&b.FailedMax, time.Minute)
	setDefault(&b.RetryAfterMax, time.Hour)
	setDefault(&b.UnreachableFirst, 500*time.Millisecond)
	setDefault(&b.UnreachableMax, 3*time.Second)
	setDefault(&b.NoTarget, 15*time.Second)
	setDefault(&b.CrashesMost, 15)
	setDefault(&b.CrashFirst, 2*time.Second)
	setDefault(&b.CrashMax, 30*time.Second)
	setDefault(&b.DeadAfter, 60)
	if b.Quick == nil {
		b.Quick = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond}
	}
	return b
}

// failed is the wait after the n-th failed delivery, n from 1 on.
func (b Backoff) failed(n int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, b.RetryAfterMax)
	}
	return jitter(doubled(b.FailedFirst, b.FailedMax, n))
}

// unreachable is the wait after the n-th time in a row that an app could not be reached.
func (b Backoff) unreachable(n int) time.Duration {
	return jitter(doubled(b.UnreachableFirst, b.UnreachableMax, n))
}

// crashesFree is how many crashes that count a message has before it waits.
const crashesFree = 4

// crashed is the wait after the n-th crash that counts; 0: as after any break.
func (b Backoff) crashed(n int) time.Duration {
	if n <= crashesFree {
		return 0
	}
	return jitter(doubled(b.CrashFirst, b.CrashMax, n-crashesFree))
}

func doubled(first, most time.Duration, n int) time.Duration {
	d := first
	for range n - 1 {
		if d >= most/2 {
			return most
		}
		d *= 2
	}
	return min(d, most)
}

// jitter spreads a wait by a fifth either way, so that what failed together does not come
// back together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreads load, hides nothing
}
