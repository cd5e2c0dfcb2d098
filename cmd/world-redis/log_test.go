package main

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogShowsNoCredentialsOfAddresses(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log := newLogger(&out, config{LogFormat: format})
		address := "http://me:secret@app.example:3000/base"
		log.Info("asked "+address, slog.String("app", address), slog.Any("error", errors.New("POST "+address+"/flow: refused")),
			slog.Group("more", slog.String("proxy", "https://me:p@ss-secret@proxy.example?x=a@b")), slog.String("text", "me@example: no address"))
		require.NotContains(t, out.String(), "secret")
		require.NotContains(t, out.String(), "me:")
		require.Contains(t, out.String(), "http://xxxxx@app.example:3000/base/flow: refused")
		require.Contains(t, out.String(), "https://xxxxx@proxy.example?x=a@b")
		require.Contains(t, out.String(), "me@example: no address")
	}
}
