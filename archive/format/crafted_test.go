package format_test

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"strconv"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/archive/archivetest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

// item is an item as another program would write it, with a library.
func item(t testing.TB, kind string, fields map[string]any) []byte {
	t.Helper()
	inner, err := cbor.Marshal([]any{kind, fields})
	require.NoError(t, err)
	outer, err := cbor.Marshal(cbor.Tag{Number: 24, Content: inner})
	require.NoError(t, err)
	return outer
}

func file(t testing.TB, version int, items ...[]byte) []byte {
	t.Helper()
	all := [][]byte{item(t, "header", map[string]any{"format": "world-redis run", "version": version, "later": []int{1}})}
	return zipped(t, bytes.Join(append(all, items...), nil))
}

// Files of other versions and files that others have made.
func TestCraftedFiles(t *testing.T) {
	t.Parallel()
	run := item(t, "run", map[string]any{"runId": "wrun_1", "status": "completed", "new": map[string]any{"a": 1}})
	end := item(t, "end", map[string]any{"events": 0, "steps": 0, "hooks": 0, "streams": 0, "chunks": 0})
	runs, _, err := decode(file(t, 1, run, end))
	require.NoError(t, err)
	require.Equal(t, "wrun_1", runs[0].run.RunID)

	for sentence, bad := range map[string][]byte{
		"runs.wra has version 2 of the format, and this build of world-redis reads versions up to 1: use a newer one": file(t, 2, run, end),
		"it is no file of world-redis":             zipped(t, item(t, "header", map[string]any{"format": "other", "version": 1})),
		`in place of the run`:                      file(t, 1, end),
		"it ends too early":                        file(t, 1, run),
		"there is something after the end":         file(t, 1, run, end, end),
		"the end counts":                           file(t, 1, run, item(t, "event", map[string]any{"eventId": "e"}), end),
		`there is an item "other"`:                 file(t, 1, run, item(t, "other", nil), end),
		`field "status": it has the wrong type`:    file(t, 1, item(t, "run", map[string]any{"status": 1})),
		"an item is no encoded CBOR item":          zipped(t, []byte{0x01}),
		`field "ends": it has the wrong type`:      file(t, 1, run, item(t, "stream", map[string]any{"ends": "x"})),
		`field "eventData": an item has no fields`: file(t, 1, run, item(t, "event", map[string]any{"eventData": 1})),
		`field "index": it has the wrong type`:     file(t, 1, run, item(t, "chunk", map[string]any{"index": "1"})),
		"an item has no fields":                    file(t, 1, run, item(t, "step", nil)),
		`field "position": it has the wrong type`:  file(t, 1, run, item(t, "hook", map[string]any{"position": 1.5})),
		`field "createdAt": it has the wrong type`: file(t, 1, item(t, "run", map[string]any{"createdAt": true})),
		`field "isWebhook": it has the wrong type`: file(t, 1, run, item(t, "hook", map[string]any{"isWebhook": 1})),
		"the run that begins at byte 0 cannot be":  zipped(t, []byte{0xd8, 0x18, 0x5a, 0x3f, 0xff, 0xff, 0xff}),
	} {
		_, _, err := decode(bad)
		require.ErrorContains(t, err, sentence)
	}
}

// A length that is not true costs no memory.
func TestALengthThatIsNotTrueCostsNoMemory(t *testing.T) {
	t.Parallel()
	bad := zipped(t, []byte{0xd8, 0x18, 0x5a, 0x3f, 0xff, 0xff, 0xff, 1, 2, 3})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := decode(bad)
	require.ErrorContains(t, err, "it ends too early")
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(encode(f, archivetest.Copy(archivetest.Run("own"))))
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _, _ = decode(content)            //nolint:errcheck // it must not panic
		_, _, _ = decode(zipped(t, content)) //nolint:errcheck // the same behind the checksum
	})
}
