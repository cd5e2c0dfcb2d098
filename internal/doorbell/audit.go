package doorbell

import (
	"context"
	"log/slog"
	"time"
)

// silentAudits is how many audits in a row must find something that no message announced before the connection counts
// as dead. After a failover it can stay connected to a node that nobody writes to.
const silentAudits = 3

// Audit calls look periodically until ctx ends, because messages get lost when a connection breaks or Redis fails
// over. look reports whether it found anything that no message had announced. If the connection receives nothing
// meanwhile, it is replaced.
func (b *Bell) Audit(ctx context.Context, every time.Duration, look func(context.Context) (missed bool)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	silent, heard := 0, int64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		missed := look(ctx)
		if now := b.Heard(); now != heard {
			silent, heard = 0, now
		} else if missed {
			silent++
		}
		if silent == silentAudits {
			b.log.InfoContext(ctx, "notifications do not arrive; the subscription connection is replaced", slog.Int("audits", silent))
			b.Renew()
			silent = 0
		}
	}
}
