package main

import (
	"fmt"
	"log/slog"
)

const (
	minSigningKey = 16 // characters
	// maxSigningKeys bounds the signature header, which has 68 bytes for each.
	maxSigningKeys = 50
)

// signingKeys are those of WORKFLOW_WORLD_SIGNING_KEY, else one for each token.
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

// warnOfMissingKey speaks up where strangers may reach an app that cannot know them as
// such. An address that others reach needs a token, so this is about the rest.
func warnOfMissingKey(c config, log *slog.Logger) {
	if c.Environment == "production" && len(c.signingKeys()) == 0 {
		log.Warn("WORKFLOW_WORLD_ENV is production, but deliveries are NOT SIGNED: apps cannot distinguish this service from any other sender",
			slog.String("hint", "set WORKFLOW_WORLD_TOKEN or WORKFLOW_WORLD_SIGNING_KEY, here and for the apps"))
	}
}
