// Package embedded delivers messages to apps. It POSTs them to the routes that the Workflow SDK builds into an app,
// and decides from the answer what happens to the message (contract §5.4).
//
// It implements world.Deliverer and does not depend on the queue. It sets no time limit for a request, because a step
// may run for hours. Only the context and the network end a request.
package embedded
