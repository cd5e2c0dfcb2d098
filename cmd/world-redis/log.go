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

// withoutCredentials hides them in every log line: addresses of apps and proxies are in many lines and errors.
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

// redisLog writes go-redis's own lines at debug level. There are many while Redis is unavailable, and the parts
// report the same once.
type redisLog struct{ *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	l.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, args...))
}

func setRedisLog(l *slog.Logger) { redis.SetLogger(redisLog{l}) }
