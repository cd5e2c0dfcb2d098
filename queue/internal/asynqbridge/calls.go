package asynqbridge

import "strings"

// operation is what the bridge does about a call of asynq.
type operation int

const (
	opUnknown operation = iota
	opEnqueue           // gives the encoded message to Encode
	opDequeue           // gives a message of Worker.Next to asynq
	opEnded             // nothing: Worker.Deliver has stored the outcome
	opUpkeep            // nothing: the queue's own upkeep moves due and lapsed messages
	opLapsed            // an empty list: the queue's own upkeep returns lapsed messages
	opClean             // passes: removes completed messages that are a week old
	opReport            // passes, but rarely: asynq's tools list the server
	opSignOff           // passes: the server leaves that list
)

// call is one script of asynq: its SHA-1, its keys and how many arguments it takes. A key that begins with "asynq:" is
// meant whole, others without the prefix of the queue; "*" at the end stands for the rest of a key, and "|" is between
// two that may be there.
type call struct {
	name      string
	operation operation
	sha       string
	keys      []string
	args      int
	orMore    bool // arguments
}

// knownCalls are the scripts that asynq v0.26.0 sends for the settings that we use. With a new version of asynq, read its
// internal/rdb/rdb.go first: what a script whose text has changed does now, our scripts have to do, too.
var knownCalls = []call{
	{
		name: "enqueue", operation: opEnqueue, sha: "98d28b42650870a743450ffda9791e9e19c6991b",
		keys: []string{"t:*", "pending"}, args: 3,
	},
	{
		name: "dequeue", operation: opDequeue, sha: "a8153319360adc71cdc370107f8ab9786f204765",
		keys: []string{"pending", "paused", "active", "lease"}, args: 2,
	},
	{
		name: "done", operation: opEnded, sha: "1241eaa1c73409baaf1fea0c08d203a4911bda15",
		keys: []string{"active", "lease", "t:*", "processed:*", "processed"}, args: 3,
	},
	{
		name: "retry", operation: opEnded, sha: "65fa409c88198a681c53e0892d8276eca0145694",
		keys: []string{"t:*", "active", "lease", "retry", "processed:*", "failed:*", "processed", "failed"}, args: 6,
	},
	{
		name: "archive", operation: opEnded, sha: "9c3b1eb9947ce2ee5304ac013a0a365ec364fd2d",
		keys: []string{"t:*", "active", "lease", "archived", "processed:*", "failed:*", "processed", "failed", "t:"}, args: 7,
	},
	{
		name: "requeue", operation: opEnded, sha: "f34cbfd11d1fc8019af55b50c447fc68eb8b29e5",
		keys: []string{"active", "lease", "pending", "t:*"}, args: 1,
	},
	{
		name: "forward", operation: opUpkeep, sha: "522b1a6ae66fe79ea2f24a9af58798ab71879035",
		keys: []string{"scheduled|retry", "pending"}, args: 4,
	},
	{
		name: "reclaim", operation: opUpkeep, sha: "7c08714194a1ed81153180b36590c51f1ccd7d42",
		keys: []string{"aggregation_sets"}, args: 1,
	},
	{
		name: "list lapsed", operation: opLapsed, sha: "16988a462595f6ee317be300951533b004f27f5c",
		keys: []string{"lease"}, args: 2,
	},
	{
		name: "clean", operation: opClean, sha: "49c4326d80c1db9c476da2aa7f4438d03688f82b",
		keys: []string{"completed"}, args: 3,
	},
	{
		name: "report", operation: opReport, sha: "3c8548ad44d0dfcfde50f07ea9271d77f656042c",
		keys: []string{"asynq:servers:*", "asynq:workers:*"}, args: 2, orMore: true,
	},
	{
		name: "sign off", operation: opSignOff, sha: "79cf8dbc80deca37314fdfdeb9fe33a12c9baad7",
		keys: []string{"asynq:servers:*", "asynq:workers:*"},
	},
}

// Keys that asynq uses besides, in commands of their own.
const (
	listOfQueues  = "asynq:queues"
	listOfServers = "asynq:servers"
	listOfWorkers = "asynq:workers"
)

// recognise finds the known call that a script is; nil if it is none of them.
func recognise(calls []call, prefix, sha string, keys []string, args int) *call {
	for i := range calls {
		if calls[i].sha == sha {
			if calls[i].fits(prefix, keys, args) {
				return &calls[i]
			}
			return nil
		}
	}
	return nil
}

func (c *call) fits(prefix string, keys []string, args int) bool {
	if len(keys) != len(c.keys) || args < c.args || args > c.args && !c.orMore {
		return false
	}
	for i, key := range keys {
		if !isOneOf(c.keys[i], prefix, key) {
			return false
		}
	}
	return true
}

func isOneOf(patterns, prefix, key string) bool {
	for more := true; more; {
		var pattern string
		pattern, patterns, more = strings.Cut(patterns, "|")
		if matches(pattern, prefix, key) {
			return true
		}
	}
	return false
}

func matches(pattern, prefix, key string) bool {
	if !strings.HasPrefix(pattern, "asynq:") {
		rest, ours := strings.CutPrefix(key, prefix)
		if !ours {
			return false
		}
		key = rest
	}
	if begin, open := strings.CutSuffix(pattern, "*"); open {
		return len(key) > len(begin) && strings.HasPrefix(key, begin)
	}
	return key == pattern
}
