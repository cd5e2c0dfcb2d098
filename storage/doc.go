// Package storage keeps runs, steps, events, hooks and waits on Redis; it implements
// world.Store.
//
// # One call, one script
//
// Each events.create is one call of one script in lua/, on the keys of the run's hash slot:
// all checks, then the event, the entity and the indexes of that slot. The event is the only
// place where a payload is stored; an entity is a small hash of scalars with the positions of
// the events that hold its input, output and error. A wait has no key at all: its events say
// everything. docs/data-model.md lists the keys.
//
// Each family of events has a file: run_events.go, step_events.go, hook_events.go, wait_events.go and attribute_events.go, and
// batch.go for several at once. What is stored, and how, is in internal/record; the lists of runs are in internal/runindex;
// calls that wait for the end of a run are in internal/waiters. All scripts are in lua.
//
// # Run twice, same answer
//
// go-redis sends a script again when the answer was lost, and so do HTTP clients. Every
// applied call leaves its request id, with the position of its event, in a hash that lives
// for at least ten minutes; the second call finds it, changes nothing and gets the event as
// stored and the entity as it was after that event.
//
// # What the caller has missed
//
// A caller may ask, with the event, for what it does not know of the log (delta.go). The script
// that appends answers that as well, so nothing is missing between the two, and the repeat
// of a call gets the same. A batch is one script of its own, made of the same functions.
//
// # Across hash slots
//
// Lists of runs and the claims of hook tokens live in other slots. They are written before
// the commit and taken back after it; readers compare every entry with the run's own slot;
// [Store.Run] mends what a crash left behind.
//
// # A log knows its end
//
// Redis copies to its replicas behind the answer, so one that takes over may lack the last writes. A caller
// that decided on what is gone must not append to what is left: no replay could ever explain that log. So a caller
// says which event it has been given last, by position and time (log_end.go), and gets CodePrecondition where
// another one stands, or none. How many events there are and when the last was created, which each script reads anyway, mostly
// decide that. A log that is longer is never a reason (contract §3.8), which is why the guard of v4, stateUpdatedAt
// (§3.7), is ignored: it is optional, and refuses what was decided before other events came.
//
// The time alone tells two events at one position apart. They can only have the same one where the clocks of two
// replicas of the service differ by as much as Redis took for the change of masters.
package storage
