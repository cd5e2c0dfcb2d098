package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

func newLogger(w io.Writer, c config) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: withoutCredentials}
	if c.LogFormat == "json" {
		return slog.New(withoutRepeats(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(withoutRepeats(slog.NewTextHandler(w, opts)))
}

// credentials are the user name and the password in an address.
var credentials = regexp.MustCompile(`://[^/?#\s]*@`)

// withoutCredentials hides them in all that is logged: addresses of apps and proxies stand in many lines, and in errors.
func withoutCredentials(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	}
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return a
	}
	return slog.String(a.Key, credentials.ReplaceAllString(text, "://xxxxx@"))
}

// redisLog carries go-redis's own lines, which are many while Redis is away and say what
// the parts say once, at debug level.
type redisLog struct{ *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	l.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, args...))
}

func setRedisLog(l *slog.Logger) { redis.SetLogger(redisLog{l}) }
