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

// Slot returns the Redis Cluster slot of a key, according to its hash tag.
func Slot(key string) int {
	for i := range len(key) {
		if key[i] != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					key = key[i+1 : j]
				}
				return int(crc16(key)) % 16384
			}
		}
		break
	}
	return int(crc16(key)) % 16384
}

// crc16 is CRC-16/XMODEM, the checksum of the cluster specification.
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
