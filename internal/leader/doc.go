// Package leader has one process of a namespace do what one does for all: the leader.
//
// A lease in Redis says who that is. The leader renews it every few seconds, and tells the others so on a channel, which
// costs them no call. One that hears nothing for a while asks for the lease, and gets it once it has lapsed: at the latest
// some 13 s after the last sign of a leader that was killed, and at once after one that stopped in order.
//
// Each time of leading is a term with a number, greater than that of every term before, also when Redis lost the last of them
// in a failover: it is at least the time by Redis's clock, in milliseconds. The lease holds the number, so a leader that stood still
// learns from its next renewal that its term is over. Until then it goes by its own clocks: two seconds before the lease
// lapses it stops. It looks at them before each call, since its work is done with a context that says so ([Lease.Lead]).
//
// There are packages for locks in Redis, redsync and redislock among them. They have a lock for the time that a piece of work takes: no
// terms, no word to those that wait but to ask again and again, and no context that goes with the lease. What is left of them is
// the 20 lines of lua/lead.lua.
package leader
