// Package streaming keeps chunk streams on Redis.
//
// History is the only source of data. A writer's script stores its chunks and rings a
// doorbell (PUBLISH); a reader pages through the history and, at its end, waits for the
// doorbell. So history and live cannot overlap or leave a gap: a lost doorbell delays a
// reader until the next audit (at most two seconds), never more. Nothing rings for the end of a stream
// that nobody closes: the audit finds it.
//
// Keys, all with the hash tag of the stream's name except the last:
//
//	stream:{<name>}                 stream  one entry a chunk: id <index+1>-0, d = bytes,
//	                                        u = 16 bytes of the chunk's ULID (chnk_…);
//	                                        an end is an entry like any other: e = 1, d empty. When
//	                                        something is written behind it, it keeps its index
//	stream_meta:{<name>}            hash    n = count of chunks and of ends between them, eof = 1
//	                                        when closed, ie = indexes of the ends between chunks,
//	                                        by = the step that may write behind the end (any, if it
//	                                        is in no log any more),
//	                                        mx = bytes of the largest chunk, t = time of the last,
//	                                        r = run, where the name does not say it,
//	                                        w:<writer> = next sequence and where it went
//	stream_req:{<name>}:<bucket>    hash    request → first index, of ten minutes' appends, and closes
//	stream_open:{<name>}            stream  the same as stream:{<name>}, in the middle of a transaction that
//	                                        stores large chunks; nobody else ever finds it there
//	stream_arriving:{<name>}        string  when a long append was last seen on its way; expires
//	stream_notify:{<name>}          channel the doorbell; says the count of chunks, or "end"
//	streams:by_run:{<runId>}        zset    names by the time they were first written, and an
//	                                        empty one once the run was purged
//
// A stream that was purged is one that has ended and has no chunks: n = 0, eof = 1, and no
// stream key.
package streaming
