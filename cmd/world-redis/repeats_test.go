package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A trouble of a thousand messages causes one warning, and one more every ten minutes while it lasts, with a count. It
// does not hold back other warnings, other apps' warnings, or errors of other runs.
func TestAWarningComesOnceInTenMinutes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		out := &bytes.Buffer{}
		log := newLogger(out, config{LogFormat: format, LogLevel: slog.LevelInfo})
		now := time.UnixMilli(1_800_000_000_000)
		say := func(log *slog.Logger, level slog.Level, msg string, attrs ...slog.Attr) {
			t.Helper()
			r := slog.NewRecord(now, level, msg, 0)
			r.AddAttrs(attrs...)
			if log.Enabled(t.Context(), level) {
				require.NoError(t, log.Handler().Handle(context.Background(), r))
			}
		}
		count := func(parts ...string) int {
			n := 0
			for line := range strings.Lines(strings.NewReplacer(`":"`, "=", `":`, "=", `"`, "").Replace(out.String())) {
				has := true
				for _, part := range parts {
					has = has && strings.Contains(line, part)
				}
				if has {
					n++
				}
			}
			return n
		}
		for i := range 1000 {
			say(log, slog.LevelWarn, "it broke", slog.String("message", fmt.Sprint("msg_", i)))
		}
		require.Equal(t, 1, count("level=WARN", "it broke"))
		require.Equal(t, repeatsShown, count("level=INFO", "it broke"))
		now = now.Add(repeatAfter)
		say(log, slog.LevelWarn, "it broke", slog.String("message", "msg_1000"))
		require.Equal(t, 1, count("level=WARN", "it broke", "msg_1000", "times=1000"))

		for _, app := range []string{"http://one", "http://two", "http://one"} {
			say(log, slog.LevelWarn, "it is down", slog.String("app", app))
			say(log.With(slog.String("namespace", "acme")), slog.LevelWarn, "it is down", slog.String("app", app))
		}
		require.Equal(t, 4, count("level=WARN", "it is down"))
		for _, run := range []string{"wrun_1", "wrun_2", "wrun_1"} {
			say(log, slog.LevelError, "it is lost", slog.String("run_id", run))
		}
		require.Equal(t, 2, count("level=ERROR", "it is lost"))

		for i := range 2 * repeatsKept {
			say(log, slog.LevelWarn, fmt.Sprint("number ", i))
		}
		handler, ok := log.Handler().(*repeats)
		require.True(t, ok)
		require.LessOrEqual(t, len(handler.seen.last), repeatsKept)
	}
}
