// Package record is the form in which runs, steps, hooks, waits and events are stored, and in which scripts reply with them.
//
// An event is one record of the log ([Encode], [Decode]), and the only place where a payload is stored. Its id follows from its
// position ([EventID]).
//
// An [Entity] is what a script replies of a run or step: the fields of its hash, and the events to which they point. Hooks and
// waits are built from their events alone ([HookOf], [WaitOf]); a [HeldHook] is what is left of a hook in the hash of hooks.
// Runs of spec version 1 or less keep all that they are in their hash (legacy.go).
//
// The package does not talk to Redis. The scripts that write and read these forms are in storage/lua.
package record
