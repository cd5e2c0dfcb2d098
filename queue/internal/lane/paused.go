package lane

// What follows is for tests of package queue: a process that is paused at any point, and does only what the test does with it.

// ClaimOne claims one message without a worker, and returns nil if there is none.
func (l *Lane) ClaimOne() (*Claim, error) {
	if _, err := l.claim(); err != nil {
		return nil, err
	}
	c := l.fromBuffer()
	if c != nil {
		l.received(c.ID)
	}
	return c, nil
}

// Rung returns a channel that closes at the next ring.
func (l *Lane) Rung() <-chan struct{} { return l.bell.listen() }
