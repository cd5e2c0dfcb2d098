package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// caller creates the events of runs, one call after the other.
type caller interface {
	// event creates the nth event of a run.
	event(ctx context.Context, runID string, n int) error
}

// result is the result of a load.
type result struct {
	Runs      int     `json:"runs"`
	Callers   int     `json:"callers"`
	PerSecond float64 `json:"perSecond"` // events
	P50       float64 `json:"p50"`       // milliseconds per event
	P99       float64 `json:"p99"`
}

// drive distributes runs among callers; the first run of each caller is not counted.
func drive(ctx context.Context, runs, callers, events int, newCaller func(context.Context) (caller, error)) (result, error) {
	all := make([]caller, callers)
	for i := range all {
		c, err := newCaller(ctx)
		if err != nil {
			return result{}, err
		}
		all[i] = c
	}
	var warm atomic.Int64
	warm.Store(int64(callers))
	if _, err := share(ctx, all, &warm, events); err != nil {
		return result{}, err
	}
	var left atomic.Int64
	left.Store(int64(runs))
	began := time.Now()
	latencies, err := share(ctx, all, &left, events)
	if err != nil {
		return result{}, err
	}
	took := time.Since(began)
	slices.Sort(latencies)
	at := func(q float64) float64 {
		return float64(latencies[int(q*float64(len(latencies)-1))].Microseconds()) / 1000
	}
	return result{Runs: runs, Callers: callers, PerSecond: float64(len(latencies)) / took.Seconds(), P50: at(.5), P99: at(.99)}, nil
}

func share(ctx context.Context, callers []caller, left *atomic.Int64, events int) ([]time.Duration, error) {
	group, ctx := errgroup.WithContext(ctx)
	latencies := make([][]time.Duration, len(callers))
	for i, c := range callers {
		group.Go(func() error {
			for left.Add(-1) >= 0 {
				runID := newRunID()
				for n := range events {
					began := time.Now()
					if err := c.event(ctx, runID, n); err != nil {
						return err
					}
					latencies[i] = append(latencies[i], time.Since(began))
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(latencies...), err
}
