// Package world defines what all parts of world-redis share: the entities of the Workflow SDK's World contract (run,
// step, event, hook, wait, chunk, message), the errors that a World returns, and the interfaces between the parts.
// Comments cite the contract by section; docs/contract.md has it.
//
// It imports only the standard library and is imported by all:
//
//	storage    runs, steps, events, hooks on Redis, one Lua script an event type
//	queue      messages on asynq, and the registry of apps to deliver to
//	streaming  chunk streams on Redis Streams and PUBLISH
//	embedded   the forwarder that POSTs a message to the app
//	httpapi    the /v1 API on echo; sees the interfaces here and nothing else
//	cmd        wires the parts
//
// Payloads are opaque everywhere: a [Raw] is one CBOR item exactly as the client sent it, and no code between the
// HTTP request and Redis decodes it.
package world
