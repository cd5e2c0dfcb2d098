package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The client is printed exactly as committed.
func TestClientIsPrinted(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("world-redis.cjs")
	require.NoError(t, err)
	require.Contains(t, string(want), "@world-redis/client")
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs([]string{"client"})
	root.SetOut(&out)
	require.NoError(t, root.Execute())
	require.Equal(t, string(want), out.String())
}
