package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/worldtest"
)

// healthy answers what the SDK answers by itself, and leaves deliveries to the handler.
func healthy(handler http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("__health") {
			handler(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"healthy":true}`))
	})
}

// noApps is a registry that takes every app.
type noApps struct{}

func (noApps) RegisterApp(_ context.Context, a world.App) error {
	if a.BaseURL == "" {
		return errors.New("refused")
	}
	return nil
}
func (noApps) UnregisterApp(context.Context, string, string) error { return nil }
func (noApps) ListApps(context.Context) ([]world.App, error)       { return nil, nil }

// BR-24: an address at which no workflow app answers is named in the log once, with what is
// wrong; an app that listens a little later is not, nor one that has said good-bye.
func TestBR24LogNamesAddressesWithoutAnApp(t *testing.T) {
	t.Parallel()
	out := &worldtest.Log{}
	var mu sync.Mutex
	tries := map[string]int{}
	tried := make(chan string, 100)
	c := newAppCheck(noApps{}, func(_ context.Context, r registration) appFinding {
		baseURL := r.BaseURL
		mu.Lock()
		defer mu.Unlock()
		tries[baseURL]++
		tried <- baseURL
		if baseURL == "http://slow" && tries[baseURL] == 4 {
			return appFinding{At: 1}
		}
		return appFinding{Code: world.NoAnswer, At: 1, Reason: "POST " + baseURL + " answered 307: redirects are not followed"}
	}, nil, slog.New(slog.NewTextHandler(out, nil)))
	c.pauses = []time.Duration{0, 0, 0, 0}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()

	bad := world.App{BaseURL: "http://bad", DeploymentID: "dpl_1"}
	for range 3 { // a client says it again every 30 s
		require.NoError(t, c.RegisterApp(ctx, bad))
	}
	require.NoError(t, c.RegisterApp(ctx, world.App{BaseURL: "http://slow", DeploymentID: "dpl_1"}))
	require.Error(t, c.RegisterApp(ctx, world.App{DeploymentID: "dpl_1"}))
	c.look(checkTask{registration: registration{App: world.App{BaseURL: "http://wrong"}}}, false)
	named := func(app string) int {
		return len(regexp.MustCompile(`level=WARN msg="no workflow app answers at this address.* app=`+app+` .*307`).FindAllString(out.String(), -1))
	}
	require.Eventually(t, func() bool { return named("http://bad") == 1 && named("http://wrong") == 1 }, time.Minute, time.Millisecond)
	for range 12 {
		<-tried
	}
	require.Contains(t, out.String(), "WORKFLOW_BASE_URL of this service")
	require.NoError(t, c.UnregisterApp(ctx, "http://bad/", "dpl_1"))
	require.NoError(t, c.RegisterApp(ctx, bad))
	require.Eventually(t, func() bool { return named("http://bad") == 2 }, time.Minute, time.Millisecond)
	for range 4 {
		require.Equal(t, "http://bad", <-tried)
	}
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, tried)
	require.Zero(t, named("http://slow"))
	require.Equal(t, 4, strings.Count(out.String(), `level=INFO msg="no workflow app answers yet`))
}
