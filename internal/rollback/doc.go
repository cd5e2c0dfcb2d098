// Package rollback finds answered calls that Redis has lost.
//
// Redis replicates after it has answered, so when a master dies, writes that its replica has not received are lost. A
// start or resume that was answered is then gone, and nobody repeats it. [Recorder] remembers these calls for some
// minutes, in a [Ledger] of bounded size, and so it does the ends of runs. [Watcher] reads the replication ids of the masters. A new id means that
// Redis may lack something: Watcher then looks up every remembered call, logs the missing ones and lists them.
//
// Redis may also lose only a part of what belongs to a call: on a cluster, a run, the lists of runs and the queue are on
// different masters. So the runs of the other calls are entered into the lists again, where recovery finds them.
package rollback
