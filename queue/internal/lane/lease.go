package lane

import (
	"context"
	"time"

	"github.com/world-redis/world-redis/internal/luascript"
)

const (
	// leaseTime is how long a message stays with a process that does not renew its lease. The
	// upkeep renews it every upkeepInterval.
	leaseTime = 12 * time.Second
	// leaseDoubt is how long after its last renewal a lease is checked before the message is
	// delivered: this process may have been paused, and another one may have the message now.
	leaseDoubt = leaseTime / 2
)

// renewed is called with the claims whose leases Redis has renewed, and the time when it was asked to.
func (l *Lane) renewed(claims map[string]*Claim, asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range claims {
		c.held = asked
	}
}

// targetOf is the app that a message is being delivered to, or empty.
func (l *Lane) targetOf(c *Claim) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.target
}

// Begin notes the app that a message is about to be delivered to, and reports whether the
// message is still ours. It calls Redis only if that is in doubt, or if Redis must know the
// app at once because there are several. Otherwise the next sweep writes it.
func (l *Lane) Begin(c *Claim, app string, several bool) (ours bool, err error) {
	l.mu.Lock()
	c.target = app
	doubt := time.Since(c.held) > leaseDoubt
	l.mu.Unlock()
	if !doubt && (!several || c.App == app) {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, RedisTimeout)
	defer cancel()
	asked := time.Now()
	reply, err := l.cfg.Send.Run(ctx, l.cfg.Scripts.Begin, []string{l.Keys.Task + c.ID, l.Keys.Lease},
		c.ID, c.Owner, leaseTime.Seconds(), app)
	if err != nil {
		return false, err
	}
	if len(reply) == 0 {
		return false, luascript.ErrShortReply
	}
	l.renewed(map[string]*Claim{c.ID: c}, asked)
	return reply[0] == int64(1), nil
}
