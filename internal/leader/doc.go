// Package leader elects the leader of a namespace: the one process that does a task on behalf of all.
//
// A lease in Redis names the leader. The leader renews it every few seconds, and announces that on a channel, so the
// others need no call. A process that receives nothing for a while requests the lease, and gets it once it has
// expired: at most some 13 s after the last sign of a leader that was killed, and immediately after one that stopped
// in order.
//
// Each leadership is a term with a number that is greater than that of every earlier term, even if Redis lost the
// last of them in a failover: it is at least Redis's time in milliseconds. The lease holds the number, so a leader
// that was paused learns from its next renewal that its term is over. Until then it relies on its own clocks: it
// stops two seconds before the lease expires. It checks the clocks before each call, because its work runs with a
// context that ends with the term ([Lease.Lead]).
//
// Packages for locks in Redis, such as redsync and redislock, hold a lock for the duration of a task. They have no
// terms, waiting processes must poll, and no context ends with the lease. What they would replace are the 20 lines of
// lua/lead.lua.
package leader
