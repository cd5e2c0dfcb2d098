package queue

import (
	"context"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
)

// leaseDoubt is the age of the last renewal from which on a lease is looked at before the
// message is delivered: this process may have been paused, and the message be somebody
// else's by now.
const leaseDoubt = leaseTime / 2

// renewed hears that Redis renewed the leases of these claims when it was asked at a moment.
func (l *lane) renewed(claims map[string]*claim, asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range claims {
		c.held = asked
	}
}

// targetOf is the app that a message is being delivered to, or empty.
func (l *lane) targetOf(c *claim) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.target
}

// begin notes the app that a message is about to be delivered to, and reports whether the
// message is still ours. It asks Redis only if that is in doubt, or if Redis must know the
// app at once because there are several; else the next sweep tells it.
func (l *lane) begin(c *claim, app string, several bool) (ours bool, err error) {
	l.mu.Lock()
	c.target = app
	doubt := time.Since(c.held) > leaseDoubt
	l.mu.Unlock()
	if !doubt && (!several || c.app == app) {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, redisTimeout)
	defer cancel()
	asked := time.Now()
	reply, err := l.q.send.Run(ctx, l.q.scripts.begin, []string{l.keys.task + c.id, l.keys.lease},
		c.id, c.owner, leaseTime.Seconds(), app)
	if err != nil {
		return false, err
	}
	if len(reply) == 0 {
		return false, luascript.ErrShortReply
	}
	l.renewed(map[string]*claim{c.id: c}, asked)
	return reply[0] == int64(1), nil
}
