package lane

import (
	"strconv"
	"sync/atomic"

	"github.com/world-redis/world-redis"
)

// Process names this process in what other replicas read.
type Process struct {
	ID     string // no other process has it
	owners atomic.Uint64
}

// RingText is what the scripts publish on the doorbell: this process, so that it does not react to its own bell, and when the
// message is due, if that is not now.
func (p *Process) RingText(due world.Millis) string {
	if due == 0 {
		return p.ID
	}
	return p.ID + " " + strconv.FormatInt(int64(due), 10)
}

// nextOwner returns an owner token that no other lease has.
func (p *Process) nextOwner() string {
	return p.ID + "." + strconv.FormatUint(p.owners.Add(1), 36)
}
