package leader

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/doorbell"
	"github.com/world-redis/world-redis/internal/redistest"
)

// Redis refuses each command of each script in turn: the lease is as before, or all of the call is done, and the
// repeated call has the right result.
func TestACommandThatIsRefusedBreaksNoLease(t *testing.T) {
	t.Parallel()
	entries, err := luaFiles.ReadDir("lua")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".lua")
		script, err := load(name)
		require.NoError(t, err)
		texts[name] = script.Sent
	}
	r := redistest.NewRefused(t, texts)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	lease := func() *Lease {
		l, err := New(t.Context(), r.Client, Config{Prefix: "refused:", Bell: doorbell.New(r.Client, log), Logger: log})
		require.NoError(t, err)
		return l
	}
	first, second := lease(), lease()
	r.Visible = func(s redistest.State) { // the number of a term is the time at which it begins
		if text := s[first.lease][""]; text != "" {
			_, s[first.lease][""], _ = strings.Cut(text, " ")
		}
		if s[first.term][""] != "" {
			s[first.term][""] = "a number"
		}
	}
	asks := func(l *Lease, leads bool) {
		t.Helper()
		_, does := l.ask(t.Context())
		require.Equal(t, leads, does)
	}
	asks(first, true)
	asks(first, true) // renewed
	asks(second, false)
	term := first.Term()
	second.giveUp(t.Context())
	first.giveUp(t.Context())
	asks(second, true)
	require.Greater(t, second.Term(), term)
	_, err = first.resign.Run(t.Context(), r.Client, []string{first.lease, first.channel}, first.holder) // not its own any more
	require.NoError(t, err)
	asks(second, true)
	r.Check(texts, nil)
}
