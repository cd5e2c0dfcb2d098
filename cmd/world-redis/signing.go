package main

import (
	"fmt"
	"log/slog"
)

const (
	minSigningKey = 16 // characters
	// maxSigningKeys limits the signature header, which has 68 bytes per key.
	maxSigningKeys = 50
)

// signingKeys returns the keys of WORKFLOW_WORLD_SIGNING_KEY, otherwise one per token.
func (c config) signingKeys() [][]byte {
	var keys [][]byte
	for _, key := range splitList(c.SigningKey, ",") {
		keys = append(keys, []byte(key))
	}
	if len(keys) > 0 {
		return keys
	}
	return tokenKeys(c.tokens())
}

func (c config) validateKeys() error {
	for _, key := range splitList(c.SigningKey, ",") {
		if len(key) < minSigningKey {
			return fmt.Errorf("a key in WORKFLOW_WORLD_SIGNING_KEY has fewer than %d characters", minSigningKey)
		}
	}
	if len(c.signingKeys()) > maxSigningKeys {
		return fmt.Errorf("there are more than %d keys for signatures: set WORKFLOW_WORLD_SIGNING_KEY to one", maxSigningKeys)
	}
	return nil
}

// warnOfMissingKey warns if strangers may reach an app that cannot tell their requests from ours. An address that
// others can reach requires a token, so this is about the remaining cases.
func warnOfMissingKey(c config, log *slog.Logger) {
	if c.Environment == "production" && len(c.signingKeys()) == 0 {
		log.Warn("WORKFLOW_WORLD_ENV is production, but deliveries are NOT SIGNED: apps cannot distinguish this service from any other sender",
			slog.String("hint", "set WORKFLOW_WORLD_TOKEN or WORKFLOW_WORLD_SIGNING_KEY, here and for the apps"))
	}
}
