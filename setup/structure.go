package setup

import "strings"

// structure is a kind of key: the data structures that world-redis uses.
type structure struct{ kind, redisType, holds string }

// structures lists every kind. A key is <prefix><kind>, optionally followed by ":" and more. Add the
// kind of each new key here: structure_test.go fails on a kind in the code that is missing.
func structures() []structure {
	return []structure{
		{"run", "hash", "runs: status, times, where input and result are"},
		{"step", "hash", "steps: status, attempts, times"},
		{"event", "hash", "the events of a run, with their payloads"},
		{"events:by_correlation", "zset", "events by what they are about"},
		{"steps:by_run", "zset", "the steps of a run"},
		{"hook", "hash, string", "live hooks of a run; whose a hook id is"},
		{"hooks:by_run", "zset", "the hooks of a run"},
		{"hooks:by_token", "string", "who holds a token"},
		{"hooks:index", "zset", "hooks that the sweeper looks after"},
		{"hooks:lapse", "zset", "hooks with a retention, by its end"},
		{"hook_left", "hash", "hooks that are gone, whose tokens are being freed"},
		{"hook_fence", "hash", "token claims that were taken over"},
		{"hook_resumes", "hash", "resumes that were received"},
		{"request", "hash", "calls of the last minutes, so that repeats change nothing"},
		{"runs:index", "zset", "all runs by time"},
		{"runs:by_name", "zset", "runs by workflow"},
		{"runs:by_status", "zset", "runs by status"},
		{"runs:watch", "zset", "runs that recovery looks at, by time"},
		{"runs:cleanup", "zset", "runs that have ended and are not cleaned up yet, by time"},
		{"runs:lost", "zset", "starts and resumes that were answered and that a change of master lost"},
		{"run_request", "string", "run ids that calls of the last minutes got"},
		{"sweep", "hash", "where the sweeper goes on"},
		{"locator", "hash", "the run of a step, hook or wait"},
		{"stream", "stream", "chunks"},
		{"stream_open", "stream", "a stream in the middle of a transaction; nobody sees it"},
		{"stream_arriving", "string", "an append that is under way"},
		{"stream_meta", "hash", "length and end of a stream, its writers"},
		{"stream_req", "hash", "appends of the last minutes, so that repeats add nothing"},
		{"streams:by_run", "zset", "the streams of a run"},
		{"streams:empties", "string", "a run that keeps nothing: what is read of its streams asks whether it has ended"},
		{"format", "string", "the form of the data, by which a build knows whether it can use it"},
		{"ready", "string", "what the readiness check writes"},
		{"replicated", "string", "what is written before replicas are asked whether they have a write"},
		{"lead", "string", "which replica does what one at a time does; a lease"},
		{"apps", "hash", "apps to deliver to"},
		{"queue", "hash, set, zset, string", "idempotency keys, stalled messages and the like of the two queues"},
	}
}

// queueKind stands for asynq's own keys of the two queues, which have no key prefix.
func queueKind() structure {
	return structure{"asynq", "list, zset, hash", "the messages of the two queues"}
}

const otherKind = "(other)"

// classify returns the kind of a key, given without its prefix. ok is false when the key
// belongs to an installation with a longer prefix: "workflow:" must not take what
// "workflow:staging:" stored.
func classify(rest string, known map[string]bool) (kind string, ok bool) {
	if kind := knownKind(rest, known); kind != "" {
		return kind, true
	}
	for i := range len(rest) {
		if rest[i] == '{' {
			break // what follows is somebody's text
		}
		if rest[i] == ':' && knownKind(rest[i+1:], known) != "" {
			return "", false
		}
	}
	return otherKind, true
}

// knownKind returns the kind that a key begins with: of one or of two parts.
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
