// Package storagetest tests a world.Store through its interface alone, so that any store can be held to the same contract
// (docs/contract.md):
//
//   - each event type in each state of its run and entity (states.go),
//   - calls that are repeated under one request id (repeats.go),
//   - random sequences of calls, which a model in plain Go predicts (model.go, sequence.go),
//   - random calls of many callers at once (callers.go).
//
// [Run] does all of it. After each test the log, the entities and the lists that a [Subject] shows must agree (invariants.go).
package storagetest
