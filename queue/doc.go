// Package queue delivers messages to apps. It implements world.Queue and
// world.AppRegistry. asynq runs its workers, behind [asynqbridge.Bridge].
//
// asynq provides the slots, the life cycle of a worker and the format of the data in Redis,
// so its tools read our queues. Where it polls, counts in whole seconds or needs two
// steps, the scripts in lua/ do the work instead. Each changes a message in one step, together
// with its idempotency key and the doorbell, so a crash cannot leave half of a change behind.
//
//	Enqueue   enqueue.lua                      a message is pending or scheduled
//	claim     claim.lua, when the bell rings     … active, leased to this process
//	deliver   world.Deliverer                  … an app answers
//	finish    done.lua, requeue.lua, dead.lua  … gone, put back, or set aside
//	upkeep    sweep.lua                        leases renewed, lapsed ones returned, due ones moved
//
// docs/queue.md describes the whole life of a message.
package queue
