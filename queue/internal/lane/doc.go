// Package lane carries the messages of one queue between Redis and the workers of this process: it claims them, renews their
// leases, and writes what becomes of them.
//
// Its interface in three sentences: [Lane.Serve] calls a function with each message that it claims, in as many slots as there are.
// That function decides what becomes of the message and calls [Lane.Finish] with this [Decision]. Meanwhile [Lane.Upkeep] renews
// leases, puts messages back whose lease has lapsed, and makes messages pending that are due.
//
// The lane knows nothing of apps and of deliveries: those are package queue's.
package lane
