package record

import (
	"strconv"
	"strings"

	"github.com/world-redis/world-redis"
)

// Claim is who holds a token.
type Claim struct{ RunID, HookID, Nonce string }

func (c Claim) String() string { return c.RunID + " " + c.HookID + " " + c.Nonce }

// SameHook reports whether two claims are of one hook.
func (c Claim) SameHook(other Claim) bool { return c.RunID == other.RunID && c.HookID == other.HookID }

// ParseClaim reads a claim; one that cannot be read is the zero Claim, which is no hook's.
func ParseClaim(text string) Claim {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return Claim{}
	}
	return Claim{RunID: parts[0], HookID: parts[1], Nonce: parts[2]}
}

// HeldHook is a hook with its claim: what has to be undone outside its run's slot.
type HeldHook struct {
	Claim
	TokenHash string
	Until     world.Millis // that it may outlive its run; 0: it does not
}

// ParseHook reads a field of the hash of hooks; lua/lib/hook.lua has its form.
func ParseHook(runID, hookID, value string) (h HeldHook, ok bool) {
	parts := strings.Split(value, " ")
	if len(parts) != 3 && len(parts) != 4 {
		return HeldHook{}, false
	}
	return HeldHook{Claim: Claim{RunID: runID, HookID: hookID, Nonce: parts[1]}, TokenHash: parts[2], Until: parseUntil(parts)}, true
}

// parseUntil reads the last part of a hook, if it has one.
func parseUntil(parts []string) world.Millis {
	if len(parts) < 4 {
		return 0
	}
	ms, _ := strconv.ParseInt(parts[3], 10, 64)
	return world.Millis(ms)
}
