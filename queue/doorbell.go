package queue

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
)

// ringing is what the scripts say on the doorbell: who rings, and when the message is due; then,
// if it was set aside, the app that has too many deliveries in work.
func (q *Queue) ringing(due world.Millis) string {
	if due == 0 {
		return q.instance
	}
	return q.instance + " " + strconv.FormatInt(int64(due), 10)
}

// listenToDoorbells listens to the doorbells of other replicas until ctx ends. A bell that is
// lost while the connection is down costs nothing: on return both queues are looked at.
func (q *Queue) listenToDoorbells(ctx context.Context) {
	for _, l := range q.lanes() {
		q.cfg.Bell.Join(l.keys.bell, l)
		defer q.cfg.Bell.Leave(l.keys.bell)
	}
	if err := q.cfg.Bell.Run(ctx); err != nil {
		q.cfg.Logger.Warn("hear the doorbells of other replicas", slog.Any("error", err))
	}
}

// Ready implements [doorbell.Listener].
func (l *lane) Ready() {
	l.bell.ring()
	l.throttle.news.hear("")
}

// Ring implements [doorbell.Listener].
func (l *lane) Ring(payload string) {
	from, due, delayed := strings.Cut(payload, " ")
	if from == l.q.instance {
		return
	}
	if !delayed {
		l.bell.ring()
		return
	}
	due, app, throttled := strings.Cut(due, " ")
	if throttled {
		l.throttle.news.hear(app)
	}
	if ms, err := strconv.ParseInt(due, 10, 64); err == nil {
		l.due.note(world.Millis(ms))
		if ms <= int64(l.q.nowMillis()) {
			l.bell.ring() // an app registered: who looks learns of it
		}
	}
}
