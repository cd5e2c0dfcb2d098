// Package redisfault explains in a sentence why Redis did not serve a call. It is the only such table, for storage,
// the queue, the streams and the readiness check.
package redisfault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis/internal/replicated"
)

// passing lists the errors of a Redis that runs but cannot serve now. They end without a change of the call, some of
// them only when an operator acts.
var passing = []struct{ code, sentence string }{
	{"LOADING", "Redis is loading its data"},
	{"READONLY", "Redis is a read-only replica"},
	{"OOM", "Redis is out of memory"},
	{"CLUSTERDOWN", "the Redis cluster is down"},
	{"MASTERDOWN", "the Redis master is down"},
	{"TRYAGAIN", "the Redis cluster is moving data"},
	{"BUSY", "Redis is busy with a script"},
	{"MISCONF", "Redis cannot save its data and refuses writes"},
	{"NOREPLICAS", "Redis has too few replicas and refuses writes"},
	{"MOVED", "the Redis cluster is moving data"},
	{"ASK", "the Redis cluster is moving data"},
	{"ERR max number of clients", "Redis accepts no more connections"},
}

// Passing returns a sentence, without a host name, for an error after which Redis may serve the same call later. ok
// is false if a retry does not help: for any other refusal, or an error that is not Redis's.
func Passing(err error) (sentence string, ok bool) {
	var missing *replicated.Error
	if errors.As(err, &missing) {
		return unconfirmed(missing), true
	}
	var answer redis.Error
	if errors.As(err, &answer) {
		text := answer.Error()
		for _, p := range passing {
			// Redis 6 quotes a command refused inside a script: "ERR Error running script …: -OOM command not allowed
			// …".
			if strings.HasPrefix(text, p.code+" ") || strings.Contains(text, ": -"+p.code+" ") {
				return p.sentence, true
			}
		}
		return "", false
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout(), errors.Is(err, redis.ErrPoolTimeout):
		return "Redis did not answer in time", true
	case network != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, redis.ErrClosed), errors.Is(err, net.ErrClosed):
		return "Redis is not reachable", true
	default:
		return "", false
	}
}

// unconfirmed returns the sentence for a write that Redis carried out and that too few replicas have.
func unconfirmed(err *replicated.Error) string {
	if err.Cause == nil {
		return fmt.Sprintf("%d of %d replicas of Redis confirmed the write in time", err.Confirmed, err.Wanted)
	}
	if sentence, ok := Passing(err.Cause); ok {
		return sentence
	}
	return "the replicas of Redis could not be asked: " + Sentence(err.Cause)
}

// Sentence returns a sentence for every error, including those that Passing does not know.
func Sentence(err error) string {
	if sentence, ok := Passing(err); ok {
		return sentence
	}
	if code := refusal(err); code != "" {
		return "Redis refused the call (" + code + ")"
	}
	return "Redis does not answer"
}

// refusal returns the code of Redis's answer, such as NOPERM.
func refusal(err error) string {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return ""
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	return code
}
