// Package rollback finds answered calls that Redis has lost.
//
// Redis replicates after it has answered, so when a master dies, writes that its replica has not received are lost. A
// start or resume that was answered is then gone, and nobody repeats it. [Recorder] remembers these calls for some
// minutes, in a [Ledger] of bounded size. [Watcher] reads the replication ids of the masters. A new id means that
// Redis may lack something: Watcher then looks up every remembered call, logs the missing ones and lists them.
package rollback
