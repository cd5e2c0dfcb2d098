// Package streaming keeps chunk streams on Redis.
//
// History is the only source of data. A writer's script stores its chunks and rings a doorbell (PUBLISH). A reader
// pages through the history and, at its end, waits for the doorbell. So history and live data can neither overlap nor
// leave a gap. A lost doorbell delays a reader until the next audit (at most two seconds), and no longer. No doorbell
// announces the end of a stream that nobody closes: the audit finds it.
//
// Keys, all with the hash tag of the stream's name except the last:
//
//	stream:{<name>}                 stream  one entry per chunk: id <index+1>-0, d = bytes,
//	                                        u = 16 bytes of the chunk's ULID (chnk_…);
//	                                        an end is an entry like any other: e = 1, d empty. It
//	                                        keeps its index when chunks are written after it
//	stream_meta:{<name>}            hash    n = count of chunks and of ends between them, eof = 1
//	                                        when closed, ie = indexes of the ends between chunks,
//	                                        by = the step that may write after the end (any step,
//	                                        if that one is no longer in any log),
//	                                        mx = bytes of the largest chunk, t = time of the last,
//	                                        r = run, if the name does not contain it,
//	                                        w:<writer> = next sequence and the start of its last chunks
//	stream_req:{<name>}:<bucket>    hash    request → first index, of ten minutes' appends and closes
//	stream_open:{<name>}            stream  the same as stream:{<name>}, in the middle of a transaction that
//	                                        stores large chunks; no other client sees it there
//	stream_arriving:{<name>}        string  when a slow append was last seen in progress; expires
//	stream_notify:{<name>}          channel the doorbell; its text is the count of chunks, or "end"
//	streams:by_run:{<runId>}        zset    names by the time they were first written, and an
//	                                        empty name once the run was purged
//
// A purged stream has ended and has no chunks: n = 0, eof = 1, and no stream key.
package streaming
