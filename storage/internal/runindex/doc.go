// Package runindex keeps the lists of runs: of all, by name, by status, and the watch, which has the runs that somebody has to
// look at. They are in other hash slots than the runs.
//
// Every entry is a hint. A run is entered before the call that makes the entry true, in the same round trip, and is taken off
// its old lists after that call. Readers compare each entry with the run, so between the two they see no difference. What a
// crash leaves is found by the sweeper or by the first reader, and corrected.
//
// A run may need a look at its creation, at a payload for one of its hooks, at the end of a hook, and when it is cancelled: it is
// entered into the watch before the commit of any of these. It leaves the watch after the call that ended it, or when recovery
// finds that it only waits for its hooks. So a crash at any time leaves the run in the watch, and a store of parked runs has a
// short one.
//
// The room sends single commands. It calls back for what only the store knows of a run ([Config]).
package runindex
