package storage

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/world-redis/world-redis"
)

// keyspace builds every key of this package. Keys with {runId} share the run's hash slot;
// ids in them are validated by the callers, free text is hashed.
type keyspace struct{ prefix string }

// runKeys are the keys of one run.
type runKeys struct{ prefix, tag string }

func (k keyspace) of(runID string) runKeys { return runKeys{prefix: k.prefix, tag: "{" + runID + "}"} }

// run is a hash: s status, v spec version, u updatedAt, sa startedAt, ca completedAt, x
// expiredAt (ms), and ie, oe, ee, the positions of the events with the input (and all that
// never changes), the output and the error. ap is the position of the last attr_set, and
// each field with '@' before its name is an attribute. en is how many events the log has, and et when
// the last was created; rb is the first bucket of request ids of the run. rs is how many events the log had when
// recovery found the run idle; with a second word, when recovery woke it, under the masters of that word. cl and ch exist while a run that has ended is to be cleared: the
// position up to which payloads are removed, and the last hook seen of those that outlive the run (lua/run_clear.lua).
// Of legacy calls: c createdAt, d deployment, n name, and the CBOR items in, out, er (error) and xc (context).
func (k runKeys) run() string { return k.prefix + "run:" + k.tag }

// step is a hash: s status, a attempt, u updatedAt, sa startedAt, ca completedAt, ra
// retryAfter (ms), and the positions ie, oe, ee as in run. Of legacy calls: c, n, in, out, er as in run.
func (k runKeys) step(stepID string) string { return k.prefix + "step:" + k.tag + ":" + stepID }

// events is a hash: position → record (internal/record), <position>/p → payload of a split record.
func (k runKeys) events() string { return k.prefix + "event:" + k.tag }

// related is a zset of <correlation id>/<position, 7 digits>, all with score 0, for ranges by text.
func (k runKeys) related() string { return k.prefix + "events:by_correlation:" + k.tag }

// steps is a zset of step ids, score createdAt.
func (k runKeys) steps() string { return k.prefix + "steps:by_run:" + k.tag }

// hooksOrder is a zset of the ids of live hooks, score the time in the id, or createdAt for an id that is no ULID.
func (k runKeys) hooksOrder() string { return k.prefix + "hooks:by_run:" + k.tag }

// hooks is a hash of hooks: hook id → "<position of hook_created> <nonce> <token hash>[ <ms>]".
// They live as long as their run, or until the ms if that is later.
func (k runKeys) hooks() string { return k.prefix + "hook:" + k.tag }

// leftHooks has the form of hooks: hooks that are gone, but whose tokens may not be free yet. It
// exists between the end of a hook and its release outside the run's slot.
func (k runKeys) leftHooks() string { return k.prefix + "hook_left:" + k.tag }

// fence is a hash of the nonces of token claims that were taken over; expires an hour after the last.
func (k runKeys) fence() string { return k.prefix + "hook_fence:" + k.tag }

// resumes is a hash: resume id → "<position of hook_received> <hook id> <digest>".
func (k runKeys) resumes() string { return k.prefix + "hook_resumes:" + k.tag }

// ended is a channel: the status with which the run ended.
func (k runKeys) ended() string { return k.prefix + "run_ended:" + k.tag }

// removed is a hash that stands where a run was that has been removed: s status, ca completedAt (ms), at when the removal began
// (ms); until the removal is complete also w, the name of the workflow. It expires an hour after that.
func (k runKeys) removed() string { return k.prefix + "run_removed:" + k.tag }

// logKeys are the keys of a run that are removed with its log.
func (k runKeys) logKeys() []string { return []string{k.events(), k.related(), k.steps(), k.resumes()} }

// removals is a zset of runs whose removal has begun, score the ms at which it was last worked on.
func (k keyspace) removals() string { return k.prefix + "runs:removals" }

// removedOn is a hash of fingerprints of runs that have been removed, those whose ids are of one day in UTC (removed_runs.go).
func (k keyspace) removedOn(day time.Time) string {
	return k.prefix + "runs:removed:" + day.UTC().Format(time.DateOnly)
}

// lostCalls is a zset of answered calls that Redis lost, as JSON, score when they were answered; expires a day after the last.
func (k keyspace) lostCalls() string { return k.prefix + "runs:lost" }

// requestSpan is how long, in ms, request ids are added to one bucket. A bucket expires 20 minutes
// after its first id, so an id is remembered for at least 10 minutes.
const requestSpan = 600_000

// request is a hash: hash of a request id → "<position of its event>[ <attempt>]", or of a batch
// one "<position> [<attempt>];" or "!<code> [<detail>];" for each of its events.
func (k runKeys) request(bucket int64) string {
	return k.prefix + "request:" + k.tag + ":" + strconv.FormatInt(bucket, 10)
}

// event returns the keys that every event script begins with, in the order of lua/lib/event.lua.
func (k runKeys) event(now world.Millis) []string {
	bucket := int64(now) / requestSpan
	return append(make([]string, 0, 9),
		k.run(), k.events(), k.related(), k.request(bucket), k.request(bucket-1))
}

// runsCleanup is a zset of runs that have ended and are to be cleared, score the ms at which a portion was last removed.
func (k keyspace) runsCleanup() string { return k.prefix + "runs:cleanup" }

// sweepState is a hash: hooks and walk are the sweeper's places in the list of hooks and in those of runs; walked exists once
// all runs that an earlier build wrote have been entered into the watch; masters is "<masters of Redis> <ms since when>". ended,
// rules and rules_again are those of the walk through the lists of ended runs (due_walk.go).
func (k keyspace) sweepState() string { return k.prefix + "sweep" }

// minted is a string: the run id that a runs.create call got; expires after 20 minutes.
func (k keyspace) minted(requestHash string) string { return k.prefix + "run_request:" + requestHash }

// hooksIndex is a zset of <run id>/<hook id>, score the ms of the claim: every hook that may
// have something outside its run's slot. The entry is written first and removed last.
func (k keyspace) hooksIndex() string { return k.prefix + "hooks:index" }

// hooksLapse is a zset of <run id>/<hook id> of hooks with a retention, score the ms at which it is over.
func (k keyspace) hooksLapse() string { return k.prefix + "hooks:lapse" }

// hook is a string: "<run id> <token hash>" of the hook with this id.
func (k keyspace) hook(hookID string) string { return k.prefix + "hook:" + hookID }

// claim is a string: "<run id> <hook id> <nonce>", who holds the token.
func (k keyspace) claim(tokenHash string) string { return k.prefix + "hooks:by_token:" + tokenHash }

// locator is a hash: correlation id → run id of the last entity with that id, spread over 65,536 small hashes. It is used only
// by reads that name no run.
func (k keyspace) locator(correlationID string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(correlationID)) // a hash cannot fail
	return k.prefix + fmt.Sprintf("locator:%04x", h.Sum32()&0xffff)
}
