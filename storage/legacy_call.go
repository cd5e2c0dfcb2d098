package storage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/storage/internal/record"
)

// legacyCall is one call of world.LegacyStore on its way to a script.
type legacyCall struct {
	runID   string
	keys    runKeys
	now     world.Millis
	request string // what the request id is remembered as
	none    bool
	entity  string // id of the step or hook
}

// newLegacyCall prepares a call. entity is the id of the step or hook, if there is one. what distinguishes the call from others
// that a client may send under the same request id.
func (s *Store) newLegacyCall(runID, entity, requestID, what string, resolveNone bool) legacyCall {
	if requestID == "" {
		requestID = s.ids.New().String() // covers go-redis sending the script twice
	}
	sum := sha256.Sum256([]byte(requestID + "\x00legacy " + what + "\x00" + entity))
	return legacyCall{runID: runID, keys: s.keys.of(runID), now: s.now(), request: string(sum[:16]), none: resolveNone, entity: entity}
}

// runLegacy runs a script whose keys and arguments begin as in lua/lib/legacy.lua. A refusal is returned as an error together
// with the reply.
func (s *Store) runLegacy(ctx context.Context, c legacyCall, script script, keys []string, args ...any) (record.Reply, error) {
	bucket := int64(c.now) / requestSpan
	keys = append([]string{c.keys.run(), c.keys.events(), c.keys.request(bucket), c.keys.request(bucket - 1)}, keys...)
	args = append([]any{c.request, strconv.FormatInt(int64(c.now), 10), want(c.none)}, args...)
	r, err := script.Run(ctx, s.redis, keys, args...)
	if err != nil {
		return nil, fail(err)
	}
	answer := record.Reply(r)
	code, err := answer.Code()
	if err != nil {
		return nil, fail(err)
	}
	if code < 0 {
		return answer, refusal(world.CreateEvent{RunID: c.runID, CorrelationID: c.entity}, c.now, code, answer)
	}
	return answer, nil
}

// optionalCount writes a number that may be left out.
func optionalCount(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func optionalMillis(ms world.Millis) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatInt(int64(ms), 10)
}

// checkLegacyIDs checks pairs of names and ids.
func checkLegacyIDs(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := world.CheckID(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func lacking(what string) error {
	return world.Errorf(world.CodeInvalid, "%s is missing", what)
}

func badStatus(what string, status any) error {
	return world.Errorf(world.CodeInvalid, "%s is no status of a %s", fmt.Sprintf("%.100q", status), what)
}
