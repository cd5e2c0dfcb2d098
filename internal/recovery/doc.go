// Package recovery ensures that no run stays "running" with nothing that will wake it.
//
// The queue does not lose messages, but they can get lost around it: a process dies between writing an event and
// queueing its message, or Redis loses its last second. So one replica at a time checks the runs that are due, in
// small batches. The store keeps a list of them by time, without the runs that are parked on hooks only. A run that
// has no message and is not parked gets one plain wake-up; the app then reads the log and continues. [Parker] parks
// the runs that have processed all of their logs. A run could also be left behind by a message that cannot be
// delivered: [Failer] ends such a run with a code and a sentence.
package recovery
