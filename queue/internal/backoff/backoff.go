// Package backoff computes how long a message waits before it is delivered again.
package backoff

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// Times are the waits before a message is delivered again. The zero value of a field means its default.
type Times struct {
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
	// NoTarget is the wait for an app to register; it ends early when one does: 15 s.
	NoTarget time.Duration
	// CrashesMost is how many times the app's process may end while it has a flow's message, and no other
	// suspect, before the run is failed: 15. From the fifth time on the next delivery waits:
	// CrashFirst doubles with each up to CrashMax: 2 s and 30 s.
	CrashesMost          int
	CrashFirst, CrashMax time.Duration
	// DeadAfter is the number of failed deliveries after which a message is set aside: 60. Apps give up at 49.
	DeadAfter int
}

// WithDefaults returns the times with a default in each field that is zero.
func (t Times) WithDefaults() Times {
	t.FailedFirst = cmp.Or(t.FailedFirst, time.Second)
	t.FailedMax = cmp.Or(t.FailedMax, time.Minute)
	t.RetryAfterMax = cmp.Or(t.RetryAfterMax, time.Hour)
	t.UnreachableFirst = cmp.Or(t.UnreachableFirst, 500*time.Millisecond)
	t.UnreachableMax = cmp.Or(t.UnreachableMax, 3*time.Second)
	t.NoTarget = cmp.Or(t.NoTarget, 15*time.Second)
	t.CrashesMost = cmp.Or(t.CrashesMost, 15)
	t.CrashFirst = cmp.Or(t.CrashFirst, 2*time.Second)
	t.CrashMax = cmp.Or(t.CrashMax, 30*time.Second)
	t.DeadAfter = cmp.Or(t.DeadAfter, 60)
	if t.Quick == nil {
		t.Quick = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond}
	}
	return t
}

// Failed is the wait after the n-th failed delivery, counted from 1.
func (t Times) Failed(n int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, t.RetryAfterMax)
	}
	return Jitter(doubled(t.FailedFirst, t.FailedMax, n))
}

// Unreachable is the wait after an app could not be reached n times in a row.
func (t Times) Unreachable(n int) time.Duration {
	return Jitter(doubled(t.UnreachableFirst, t.UnreachableMax, n))
}

// crashesFree is how many crashes are counted against a message before it waits.
const crashesFree = 4

// Crashed is the wait after the n-th crash that counts against a message. 0 means that it waits as after any broken delivery.
func (t Times) Crashed(n int) time.Duration {
	if n <= crashesFree {
		return 0
	}
	return Jitter(doubled(t.CrashFirst, t.CrashMax, n-crashesFree))
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

// Jitter changes a wait by up to a fifth, so that messages that failed together do not come back together.
func Jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreads load, hides nothing
}
