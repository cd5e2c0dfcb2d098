package httpbody

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

// A payload of 2 MiB arrives with a few more bytes: the buffer for its body is not slightly too small and then doubled.
// A buffer for a body that is only announced stays bounded.
func TestABodyOfTwoMebibytesIsReadIntoOneBuffer(t *testing.T) {
	t.Parallel()
	s := &Codec{MaxBody: 64 << 20}
	read := func(sent int, claimed int64) *bytes.Buffer {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, sent)))
		r.ContentLength = claimed
		buf := new(bytes.Buffer)
		body, err := s.ReadInto(echo.New().NewContext(r, httptest.NewRecorder()), buf)
		require.NoError(t, err)
		require.Len(t, body, sent)
		return buf
	}
	require.Less(t, read(2<<20+1000, 2<<20+1000).Cap(), 2<<20+100_000)
	require.Less(t, read(10, 60<<20).Cap(), 2<<20+100_000)
}
