//go:build race

package storagetest

// The race detector makes a sequence three times as long; what it looks for comes in every few of them.
const usualSequences = 200
