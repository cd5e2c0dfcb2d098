// Package rediskey builds key names that are the same in every Redis mode.
//
// A key is `<prefix><kind>:{<tag>}[:<member>]`. The braces are a Redis Cluster hash tag. They are written in every
// mode, so that moving to a cluster changes no key.
package rediskey

import (
	"crypto/sha256"
	"encoding/hex"
)

// safe reports whether a text can be part of a key unchanged: it contains nothing that could end a hash tag, separate
// parts of a key, or have a meaning in a glob pattern.
func safe(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return text != "" && len(text) <= 256
}

// Part returns text as a key part: unchanged if it is safe, otherwise "~" and its hex SHA-256. The two forms cannot
// collide, because "~" is not safe.
func Part(text string) string {
	if safe(text) {
		return text
	}
	return "~" + Hash(text)
}

// Hash returns the hex SHA-256 of text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
