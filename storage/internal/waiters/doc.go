// Package waiters holds the calls of this process that wait for a run to end.
//
// The script that ends a run publishes on a channel of the run (announce_end in storage/lua/lib/apply_run_end.lua). Exactly the runs
// that somebody waits for are subscribed, each once however many wait for it, all on one connection. A message may be lost, so
// all of these runs are also read from time to time: once a run and not once a waiter.
package waiters
