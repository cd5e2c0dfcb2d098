package queue

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
)

// listenToDoorbells listens to the doorbells of other replicas until ctx ends. A bell may be
// lost while the connection is down: when it is back, both queues look for messages.
func (q *Queue) listenToDoorbells(ctx context.Context) {
	for _, w := range q.workers() {
		q.cfg.Bell.Join(w.Keys.Bell, w)
		defer q.cfg.Bell.Leave(w.Keys.Bell)
	}
	if err := q.cfg.Bell.Run(ctx); err != nil {
		q.cfg.Logger.Warn("the queue cannot listen to the doorbells of other replicas; it looks for messages every few seconds", slog.Any("error", err))
	}
}

// Ready implements [doorbell.Listener].
func (w *worker) Ready() {
	w.Notify(0)
	w.throttle.news.add("")
}

// Ring implements [doorbell.Listener]. The payload is that of [lane.Process.Ring], followed by the app for which a message was set aside.
func (w *worker) Ring(payload string) {
	from, due, delayed := strings.Cut(payload, " ")
	if from == w.q.process.ID {
		return
	}
	if !delayed {
		w.Notify(0)
		return
	}
	due, app, throttled := strings.Cut(due, " ")
	if throttled {
		w.throttle.news.add(app)
	}
	if ms, err := strconv.ParseInt(due, 10, 64); err == nil {
		w.Notify(world.Millis(ms))
		if ms <= int64(w.q.nowMillis()) {
			w.Notify(0) // an app has registered: the next claim reads that
		}
	}
}
