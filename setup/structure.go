package setup

import "strings"

// structure is a kind of key that world-redis uses.
type structure struct{ kind, redisType, holds string }

// structures lists every kind. A key is <prefix><kind>, optionally followed by ":" and more. Add each new kind here:
// structure_test.go fails if a kind in the code is missing.
func structures() []structure {
	return []structure{
		{"run", "hash", "runs: status, times, where input and result are"},
		{"step", "hash", "steps: status, attempts, times"},
		{"event", "hash", "the events of a run, with their payloads"},
		{"events:by_correlation", "zset", "events by correlation id"},
		{"steps:by_run", "zset", "the steps of a run"},
		{"hook", "hash, string", "live hooks of a run; the run of a hook id"},
		{"hooks:by_run", "zset", "the hooks of a run"},
		{"hooks:by_token", "string", "the hook that holds a token"},
		{"hooks:index", "zset", "hooks that the sweeper checks"},
		{"hooks:lapse", "zset", "hooks with a retention, by its end"},
		{"hook_left", "hash", "removed hooks whose tokens are being released"},
		{"hook_fence", "hash", "token claims that were taken over"},
		{"hook_resumes", "hash", "resumes that were received"},
		{"request", "hash", "calls of the last minutes, so that repeats change nothing"},
		{"runs:index", "zset", "all runs by time"},
		{"runs:by_name", "zset", "runs by workflow"},
		{"runs:by_status", "zset", "runs by status"},
		{"runs:watch", "zset", "runs that recovery checks, by time"},
		{"runs:cleanup", "zset", "ended runs that are not cleaned up yet, by time"},
		{"run_removed", "hash", "runs that were removed in the last hour, so that no late call creates them anew"},
		{"runs:removed", "hash", "fingerprints of removed runs by day, so that no late call creates them anew; expire"},
		{"runs:removals", "zset", "runs that are being removed, by time"},
		{"runs:due", "zset", "ended runs that are removed some day, by time"},
		{"runs:lost", "zset", "acknowledged starts and resumes that a change of master lost"},
		{"run_request", "string", "run ids assigned to calls of the last minutes"},
		{"sweep", "hash", "where the sweeper continues"},
		{"locator", "hash", "the run of a step, hook or wait"},
		{"stream", "stream", "chunks"},
		{"stream_open", "stream", "a stream during a transaction; readers never see it"},
		{"stream_arriving", "string", "an append in progress"},
		{"stream_meta", "hash", "length and end of a stream, its writers"},
		{"stream_req", "hash", "appends of the last minutes, so that repeats add nothing"},
		{"streams:by_run", "zset", "the streams of a run"},
		{"streams:empties", "string", "a run that keeps nothing: each read of its streams checks whether it has ended"},
		{"format", "string", "the version of the data format, which each build checks"},
		{"memory:samples", "zset", "the used memory of Redis, once an hour for a week"},
		{"memory:said", "string", "exists for a day after the log said how fast Redis grows"},
		{"ready", "string", "what the readiness check writes"},
		{"replicated", "string", "written before replicas are asked to confirm a write"},
		{"lead", "string", "the lease of the leader, which does the background work"},
		{"replicas", "zset", "replicas of the service and their builds"},
		{"apps", "hash", "apps to deliver to"},
		{"app_note", "string", "what was found at the address of an app, for minutes"},
		{"queue", "hash, set, zset, string", "idempotency keys, messages that wait for an app, and more, of the two queues"},
	}
}

// queueKind is the kind of asynq's own keys of the two queues, which have no key prefix.
func queueKind() structure {
	return structure{"asynq", "list, zset, hash", "the messages of the two queues"}
}

const otherKind = "(other)"

// classify returns the kind of a key, given without its prefix. ok is false if the key belongs to an installation
// with a longer prefix: "workflow:" must not delete the data of "workflow:staging:".
func classify(rest string, known map[string]bool) (kind string, ok bool) {
	if kind := knownKind(rest, known); kind != "" {
		return kind, true
	}
	for i := range len(rest) {
		if rest[i] == '{' {
			break // the rest is a caller's text
		}
		if rest[i] == ':' && knownKind(rest[i+1:], known) != "" {
			return "", false
		}
	}
	return otherKind, true
}

// knownKind returns the kind at the start of a key, which has one or two parts.
func knownKind(rest string, known map[string]bool) string {
	first, more, found := strings.Cut(rest, ":")
	if found {
		second, _, _ := strings.Cut(more, ":")
		if two := first + ":" + second; known[two] {
			return two
		}
	}
	if known[first] {
		return first
	}
	return ""
}
