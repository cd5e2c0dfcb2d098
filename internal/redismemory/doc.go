// Package redismemory reads how full Redis is, and says how fast it grows and when it is full.
//
// The measure is what Redis itself reports, used_memory. A [Recorder] stores it once an hour, for each master, in a sorted set
// with a week of entries, so the growth is measured, and includes what other programs write and remove. Until there is an hour of that,
// the growth is estimated from the number of runs of the last day and the memory that a run takes on average.
//
// Redis evicts nothing here (maxmemory-policy noeviction), so it is full when used_memory reaches maxmemory: from then on calls
// fail. Without maxmemory the memory of the machine is the limit that remains.
package redismemory
