// Package recovery sees to it that no run stays "running" with nothing that will wake it.
//
// Messages are not lost by the queue, but around it: a process that dies between writing an
// event and queueing the message for it, or a Redis that loses its last second. So one
// replica at a time looks at the runs that are due, in small batches: the store keeps a list
// of them by time, in which a run that is parked on hooks alone has no place. A run that has no
// message, and is not parked, gets one plain wake-up; the app then reads the
// log and goes on. [Parker] parks the runs that have looked at all of their logs. The other way in which a run could be left behind is a message that nobody
// can deliver: [Failer] ends such a run with a code and a sentence.
package recovery
