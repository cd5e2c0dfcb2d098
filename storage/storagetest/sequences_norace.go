//go:build !race

package storagetest

// Thousands, for what comes in few of them.
const usualSequences = 2000
