package livestream

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sdkChunk is a chunk as the SDK writes one.
func sdkChunk(text string) []byte {
	return append(appendFrameLength(nil, uint32(len(text))), text...)
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`devl["x"]`:                            `"x"`,
		`devl[["Set",1,2],"a","b"]`:            `["a","b"]`,
		`devl[["Error",1],{"message":2},"no"]`: `{"$Error":{"message":"no"}}`,
		`devl[[-1,-2,1],5]`:                    `[null,null,5]`,
		`devl[{}]`:                             `{}`,
		`devl[[]]`:                             `[]`,
	} {
		require.Equal(t, want, string(readable(sdkChunk(text), noMore(t))))
	}
	bomb := "[[1,1]"
	for i := 2; i < 60; i++ {
		bomb += `,[` + strings.TrimSuffix(strings.Repeat(strconv.Itoa(i)+",", 2), ",") + `]`
	}
	for _, chunk := range [][]byte{
		nil, []byte("plain text"), sdkChunk("encr"), sdkChunk(`devl{`), sdkChunk(`devl[]`), sdkChunk(`devl[[9]]`),
		sdkChunk(`devl[[0]]`), sdkChunk(`devl[["Map",1]]`), sdkChunk(`devl[{"a":"b"}]`), sdkChunk(`devl` + bomb + `,1]`),
		sdkChunk(`devl["x"]`)[1:], append(sdkChunk(`devl["x"]`), 'x'), sdkChunk(`devl[["x",{}]]`), sdkChunk(`devl[1e99]`)[:6],
	} {
		require.Nil(t, readable(chunk, func(int) bool { return true }), string(chunk))
	}
}

// A small chunk that represents a large value is not written out: its bytes are shown instead.
func TestReadableHasABudget(t *testing.T) {
	t.Parallel()
	const refs, size = 9_999, 100_000
	text := `[[1` + strings.Repeat(`,1`, refs-1) + `],"` + strings.Repeat("x", size) + `"]`
	chunk := sdkChunk("devl" + text)
	asked := 0
	require.Nil(t, readable(chunk, func(n int) bool { asked += n; return true }))
	require.LessOrEqual(t, asked, readableBytes+readableStep)
	// A value with a few repetitions reserves its memory, and is not shown if there is none.
	text = `[[1` + strings.Repeat(`,1`, 4) + `],"` + strings.Repeat("x", size) + `"]`
	chunk, asked = sdkChunk("devl"+text), 0
	require.Len(t, readable(chunk, func(n int) bool { asked += n; return true }), 5*(size+len(`"",`))+len(`]`))
	require.InDelta(t, 4*size, asked, readableStep)
	require.Nil(t, readable(chunk, func(int) bool { return false }))
	// A large value without repetitions is written out, up to a size that is still readable.
	require.Len(t, readable(sdkChunk(`devl["`+strings.Repeat("x", 500<<10)+`"]`), noMore(t)), 500<<10+len(`""`))
	require.Nil(t, readable(sdkChunk(`devl["`+strings.Repeat("x", readableChunk)+`"]`), noMore(t)))
	// Entries take more memory than their bytes.
	require.Nil(t, readable(sdkChunk(`devl["x"`+strings.Repeat(",1", readableEntries+1)+`]`), noMore(t)))
	require.Len(t, readable(sdkChunk(`devl["`+strings.Repeat(`,\\\"`, readableEntries)+`"]`), noMore(t)), 5*readableEntries+len(`""`))
}

// noMore is for values that are no larger than their chunks.
func noMore(t *testing.T) func(int) bool {
	return func(int) bool {
		t.Error("it asks for more memory")
		return false
	}
}
