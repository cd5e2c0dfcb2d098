package doorbell

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// recorder is a log handler that sends each record to a channel.
type recorder struct {
	slog.Handler
	records chan slog.Record
}

func (l recorder) Handle(_ context.Context, r slog.Record) error {
	l.records <- r
	return nil
}

type deaf struct{ ready chan struct{} }

func (d deaf) Ready()    { d.ready <- struct{}{} }
func (deaf) Ring(string) {}

// For a user without channels, refused notifications are logged once; when they are allowed again, listeners receive
// them.
func TestRefusedNotificationsAreLogged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := redistest.Client(t, server.Addr)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "world", "on", ">secret", "+@all", "~*", "resetchannels").Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "world", Password: "secret"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	log := recorder{slog.NewTextHandler(t.Output(), nil), make(chan slog.Record, 10)}
	b := New(client, slog.New(log))
	b.rightsEvery = 5 * time.Millisecond
	listener := deaf{make(chan struct{}, 10)}
	b.Join("workflow:run:ended", listener)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()

	first := <-log.records
	require.Equal(t, slog.LevelWarn, first.Level)
	require.Contains(t, first.Message, "Redis refuses notifications")
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "world", "&*").Err())
	second := <-log.records
	require.Equal(t, slog.LevelInfo, second.Level)
	require.Contains(t, second.Message, "again")
	<-listener.ready
	cancel()
	require.NoError(t, <-ended)
}
