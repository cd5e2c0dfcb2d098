package livestream

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The readable form of any chunk is one line of JSON, no larger than the limit for one.
func FuzzReadable(f *testing.F) {
	for _, seed := range []string{`[[1,1,1],"text"]`, `[{"a":1},[2,-1],["Date","2024-01-01T00:00:00.000Z"]]`, `[["Set",1,0],3]`, `[["Map",0,0]]`, `[[[1]]]`, `[1e99]`, `[[99]]`, `{"a":1}`} {
		f.Add([]byte(formatText+seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, chunk []byte, framed bool) {
		if framed {
			chunk = append(appendFrameLength(nil, uint32(len(chunk))), chunk...)
		}
		room := len(chunk)
		line := readable(chunk, func(n int) bool { room += n; return true })
		if line == nil {
			return
		}
		require.True(t, json.Valid(line), "%q → %q", chunk, line)
		require.NotContains(t, string(line), "\n")
		require.LessOrEqual(t, room, len(chunk)+readableBytes+readableStep)
		// A byte that is not UTF-8 is written with three; each part has a little around it.
		require.LessOrEqual(t, len(line), 3*room+64*readableParts)
	})
}

// Any body of frames is refused, or split without losing a byte.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01a\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		chunks, err := SplitFrames(body)
		if err != nil {
			return
		}
		var again []byte
		for _, chunk := range chunks {
			again = append(appendFrameLength(again, uint32(len(chunk))), chunk...)
		}
		require.Equal(t, body, again)
	})
}
