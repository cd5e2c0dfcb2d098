//go:build !race

package storage

// Thousands, for what comes in few of them.
const usualSequences = 2000
