package input

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// The limit of each kind of field: the largest value that is read, and the sentence about the first one that is refused.
func TestFieldsHaveLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) []string { return strings.Split(strings.Repeat("x", n), "") }
	cases := map[string]struct {
		read     func(o *Object) any
		good     any
		want     any
		bad      any
		sentence string
	}{
		"text":      {func(o *Object) any { return o.Text("f", 3) }, "é1", "é1", "é12", "body.f has 4 bytes, the limit is 3"},
		"required":  {func(o *Object) any { return o.Required("f", 3) }, "abc", "abc", "", "body.f is missing"},
		"id":        {func(o *Object) any { return o.ID("f") }, strings.Repeat("i", 256), strings.Repeat("i", 256), "a b", "body.f " + world.IDRule},
		"long id":   {func(o *Object) any { return o.ID("f") }, "i", "i", strings.Repeat("i", 257), "body.f " + world.IDRule},
		"whole":     {func(o *Object) any { return *o.Whole("f") }, 0, int64(0), nil, ""},
		"small":     {func(o *Object) any { return o.Small("f") }, 1_000_000, 1_000_000, 1_000_001, "body.f is too large"},
		"seconds":   {func(o *Object) any { return o.Seconds("f", 90) }, 90, 90 * time.Second, 91, "body.f must be from 0 to 90"},
		"list":      {func(o *Object) any { return len(o.List("f", 2)) }, long(2), 2, long(3), "body.f has more entries than the limit of 2"},
		"namespace": {func(o *Object) any { return o.Namespace("f") }, "shop1", "shop1", "Shop", "body.f must be a lower-case letter, then such letters and digits"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := ObjectOf("body", worldtest.Raw(t, map[string]any{"f": c.good}))
			require.Equal(t, c.want, c.read(good))
			require.NoError(t, good.Err)
			if c.sentence == "" {
				return
			}
			bad := ObjectOf("body", worldtest.Raw(t, map[string]any{"f": c.bad}))
			c.read(bad)
			require.EqualError(t, bad.Err, "invalid: "+c.sentence)
			require.Equal(t, world.CodeInvalid, world.ErrorCode(bad.Err))
		})
	}
}

// A value of another type is refused with the type that is expected.
func TestFieldsHaveTypes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		read func(o *Object)
		bad  any
	}{
		"must be text": {func(o *Object) { o.Text("f", 9) }, 1},
		"must be a whole number that is not negative": {func(o *Object) { o.Whole("f") }, -1},
		"must be true or false":                       {func(o *Object) { o.Flag("f") }, "true"},
		TimestampRule:                                 {func(o *Object) { o.Millis("f") }, "soon"},
		"must be a byte string of known length":       {func(o *Object) { o.ByteString("f") }, "bytes"},
		"must be an object":                           {func(o *Object) { o.Mapping("f") }, []int{}},
		"must be a list":                              {func(o *Object) { o.List("f", 1) }, "list"},
		"has an entry that is not an id": {func(o *Object) {
			o.Texts("f", 2, func(s string) bool { return s == "a" }, "is not an id")
		}, []string{"a", "b"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			o := ObjectOf("body", worldtest.Raw(t, map[string]any{"f": c.bad}))
			c.read(o)
			require.EqualError(t, o.Err, "invalid: body.f "+sentence)
		})
	}
}

// A decoder checks Err once, at the end: the first mistake stays, and what is read after it is absent. A mistake within an inner
// object is one of the outer object.
func TestTheFirstMistakeStays(t *testing.T) {
	t.Parallel()
	o := ObjectOf("body", worldtest.Raw(t, map[string]any{"a": 1, "b": "text", "inner": []int{}}))
	o.Text("a", 9)
	require.Empty(t, o.Text("b", 9))
	o.Payload("missing")
	require.EqualError(t, o.Err, "invalid: body.a must be text")

	o = ObjectOf("body", worldtest.Raw(t, map[string]any{"b": "text", "inner": []int{}}))
	require.Nil(t, o.Object("inner"))
	require.Empty(t, o.Text("b", 9))
	require.EqualError(t, o.Err, "invalid: body.inner must be an object")
}

// mapOf is a map of n different keys, of known length or not.
func mapOf(n int, indefinite bool) world.Raw {
	b := cboritem.AppendHead(nil, cboritem.MajorMap, uint64(n)) //nolint:gosec // a small number
	if indefinite {
		b = []byte{0xbf}
	}
	for i := range n {
		b = cboritem.AppendText(b, fmt.Sprint("key ", i))
		b = cboritem.AppendInt(b, 1)
	}
	if indefinite {
		b = append(b, cboritem.Break)
	}
	return b
}

// A map that the service itself reads has at most 10,000 keys, whether it announces them or not. No key is there twice, also
// beyond the number from which they are remembered in another way.
func TestKeysAreLimitedAndDifferent(t *testing.T) {
	t.Parallel()
	for _, indefinite := range []bool{false, true} {
		fields, err := EntriesOf("body", mapOf(maxKeys, indefinite))
		require.NoError(t, err)
		require.Len(t, fields, maxKeys)
		_, err = EntriesOf("body", mapOf(maxKeys+1, indefinite))
		require.EqualError(t, err, "invalid: body has more than 10000 keys")
	}
	for _, n := range []int{1, 12, 13, 40} {
		twice := mapOf(n, true)
		twice = cboritem.AppendText(twice[:len(twice)-1], fmt.Sprint("key ", n-1))
		twice = append(cboritem.AppendInt(twice, 2), cboritem.Break)
		_, err := EntriesOf("body", twice)
		require.EqualError(t, err, fmt.Sprintf("invalid: body has the key %q twice", fmt.Sprint("key ", n-1)))
	}
	_, err := EntriesOf("body", worldtest.Unhex(t, "a10102"))
	require.EqualError(t, err, "invalid: body has a key that is not text")
	_, err = EntriesOf("body", worldtest.Unhex(t, "a1616102")[:3])
	require.EqualError(t, err, "invalid: body is not well-formed CBOR")
}
