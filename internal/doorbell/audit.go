package doorbell

import (
	"context"
	"log/slog"
	"time"
)

// silentAudits in a row must find news that no message told before the connection counts as
// dead. After a failover it can stay up with a node that nobody writes to.
const silentAudits = 3

// Audit looks for news by itself every so often, until ctx ends: messages get lost when a
// connection breaks or Redis fails over. look reports whether it found any that had not been
// told. A connection that stays deaf meanwhile is made anew.
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
			b.log.InfoContext(ctx, "messages do not arrive; the subscription connection is made anew", slog.Int("audits", silent))
			b.Renew()
			silent = 0
		}
	}
}
