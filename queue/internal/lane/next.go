package lane

import "github.com/world-redis/world-redis/internal/pause"

// next returns the next message, as asynq encodes it. It waits for one, until no more messages are claimed.
func (l *Lane) next() (message string, ok bool) {
	claiming := l.cfg.Phases.Claiming
	for {
		if claiming.Err() != nil {
			return "", false
		}
		if ok, retryIn := l.hasSlot(); !ok {
			l.awaitSlot(retryIn)
			continue
		}
		if c := l.fromBuffer(); c != nil {
			return c.message, true
		}
		rung := l.bell.listen()
		if l.quiet != rung { // it rang since the list was last seen empty
			left, err := l.claim()
			if err != nil {
				l.cfg.Outage.failed(err)
				if !pause.For(claiming, l.cfg.Outage.pause()) {
					return "", false
				}
				continue
			}
			l.cfg.Outage.ended()
			if l.lost.untried() {
				l.work.Go(l.undoLost)
			}
			if left == 0 {
				l.quiet = rung // all messages are in the buffer
			}
			continue
		}
		l.waiting.Store(true)
		select {
		case <-rung:
		case <-l.came:
		case <-claiming.Done():
		}
		l.waiting.Store(false)
	}
}
