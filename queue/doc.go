// Package queue carries messages to the apps: it implements world.Queue and
// world.AppRegistry. asynq runs its workers, behind [asynqbridge.Bridge].
//
// asynq brings the slots, the life cycle of a worker and the shape of the data in Redis,
// so its tools read our queues. What it does by polling, in whole seconds, or in two
// steps is done by the scripts in lua/ instead. Each changes a message in one step, together
// with its idempotency key and the doorbell, so no crash can leave half of a change behind.
//
//	Enqueue   enqueue.lua                      a message is pending or scheduled
//	claim     claim.lua, when the bell rings     … active, leased to this process
//	deliver   world.Deliverer                  … an app answers
//	finish    done.lua, requeue.lua, dead.lua  … gone, put back, or set aside
//	upkeep    sweep.lua                        leases renewed, lapsed ones returned, due ones moved
//
// docs/queue.md tells the whole life of a message.
package queue
