// Package embedded hands messages to apps: it POSTs them to the routes that the Workflow
// SDK builds into an app, and reads from the answer what becomes of the message.
//
// It implements world.Deliverer and knows nothing of the queue. It never gives up on a
// request by itself, because a step may run for hours within one; only the context and
// the network end it.
package embedded
