package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

func newLogger(w io.Writer, c config) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(withoutRepeats(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(withoutRepeats(slog.NewTextHandler(w, opts)))
}

// redisLog carries go-redis's own lines, which are many while Redis is away and say what
// the parts say once, at debug level.
type redisLog struct{ *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	l.DebugContext(ctx, "go-redis: "+fmt.Sprintf(format, args...))
}

func setRedisLog(l *slog.Logger) { redis.SetLogger(redisLog{l}) }
