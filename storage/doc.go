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
// # Run twice, same answer
//
// go-redis sends a script again when the answer was lost, and so do HTTP clients. Every
// applied call leaves its request id, with the position of its event, in a hash that lives
// for at least ten minutes; the second call finds it, changes nothing and gets the event as
// stored and the entity as it was after that event.
//
// # What the caller has missed
//
// A caller may ask, with the event, for what it does not know of the log (news.go). The script
// that appends answers that as well, so nothing is missing between the two, and the repeat
// of a call gets the same. A batch is one script of its own, made of the same functions.
//
// # Across hash slots
//
// Lists of runs and the claims of hook tokens live in other slots. They are written before
// the commit and taken back after it; readers compare every entry with the run's own slot;
// [Store.Run] mends what a crash left behind.
//
// # What is left out on purpose
//
// The v4 guard stateUpdatedAt (contract §3.7) is not implemented: it is optional, and no reference
// World that users run themselves has it. On a 412 SDK v4 loads the log and sends the same event once
// more without deciding anew (only the end of a run is decided anew), so the guard would cost round
// trips and add little. Duplicates and writes to what has ended are refused by the scripts' own checks.
package storage
