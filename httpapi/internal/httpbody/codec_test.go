package httpbody

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

// A payload of 2 MiB comes with some bytes more: its body is not read into room that is just too small
// for it, and copied into twice as much. Room for what is only claimed stays bounded.
func TestABodyOfTwoMebibytesIsReadIntoOneRoom(t *testing.T) {
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
