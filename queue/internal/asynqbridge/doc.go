// Package asynqbridge is all of the service that knows asynq. asynq runs the slots and the life cycle of a worker, encodes
// messages, and gives the layout of the keys, so that its own tools read and pause the queues; what it would do on Redis
// with a message is done by scripts of package queue.
//
// Its interface in one sentence: [Bridge.Encode] turns a message into what lies in Redis, and [Bridge.Serve] has asynq call
// Next for such a message and Deliver with it, in as many slots as there are, until it is stopped.
//
// asynq gets a Redis client ([backend]) that answers the calls listed in [knownCalls] and refuses all others: a script of
// asynq's own never runs on a message. [Check] has asynq send each of these calls once, to no Redis, and compares.
package asynqbridge
