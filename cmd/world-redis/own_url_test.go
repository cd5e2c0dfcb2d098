package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the service prints can be pasted: an address that means every address is not one that can be called.
func TestPrintedURLCanBeCalled(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"0.0.0.0:8787": "http://127.0.0.1:4711", ":0": "http://127.0.0.1:4711", "[::]:8787": "http://[::1]:4711",
		"localhost:0": "http://[::]:4711", "10.1.2.3:8787": "http://[::]:4711",
	} {
		require.Equal(t, want, printedURL(listen, "[::]:4711"), listen)
	}
	require.Equal(t, "http://127.0.0.1:4711", printedURL("127.0.0.1:0", "127.0.0.1:4711"))
}
