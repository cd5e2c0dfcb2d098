// Package storage keeps runs, steps, events, hooks and waits in Redis; it implements world.Store.
//
// # One call, one script
//
// Each events.create is one call of one script in lua, on the keys of the run's hash slot: all checks, then the event, the
// entity and the indexes of that slot. The event is the only place where a payload is stored. An entity is a small hash of
// scalars with the positions of the events that hold its input, output and error. A wait has no key: its events are all there
// is. docs/data-model.md lists the keys.
//
// Each family of events has a file: run_events.go, step_events.go, hook_events.go, wait_events.go and attribute_events.go, and
// batch.go for several at once. The stored form is in internal/record, the lists of runs are in internal/runindex, and calls that
// wait for the end of a run are in internal/waiters.
//
// # A repeated call gets the first answer
//
// go-redis sends a script again when the answer was lost, and so do HTTP clients. Every applied call leaves its request id, with
// the position of its event, in a hash that lives for at least ten minutes. The second call finds it, changes nothing, and gets
// the event as stored and the entity as it was after that event.
//
// # What the caller has missed
//
// With an event, a caller may ask for the events that it does not have yet (delta.go). The script that appends returns these as
// well, so nothing is missing between the two, and a repeated call gets the same. A batch is a script of its own, made of the
// same functions.
//
// # Across hash slots
//
// Lists of runs and the claims of hook tokens are in other slots. They are written before the commit and removed after it.
// Readers compare every entry with the run's own slot, and [Store.Run] repairs what a crash left behind.
//
// # A log that has lost its end
//
// Redis copies to its replicas after it has answered, so a replica that takes over may lack the last writes. A caller that decided
// on the basis of lost events must not append to the rest: no replay could explain that log. So a caller says which event it got
// last, by position and time (log_end.go), and gets CodePrecondition if another event or none is there. The number of events and
// the time of the last one, which each script reads anyway, usually decide that. A log that is longer is no reason to refuse
// (contract §3.8). Therefore the guard of SDK v4, stateUpdatedAt (§3.7), is ignored: it is optional, and refuses what was decided
// before other events came.
//
// The time is what distinguishes two events at one position. They can have the same time only if the clocks of two replicas of the
// service differ by as much as Redis took to change masters.
package storage
