// Package rollback finds out which answered calls Redis has lost.
//
// Redis replicates behind its answers, so a master that dies takes along what its replica had not heard of yet. A start or
// a resume that was answered is then gone, and nobody repeats it. [Recorder] remembers these calls for some minutes, in a
// [Ledger] of bounded size. [Watcher] asks for the replication ids of the masters; one that is new stands for a Redis that may lack
// something. Then it looks every remembered call up, logs those that are missing and has them listed.
package rollback
