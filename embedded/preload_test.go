package embedded_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/internal/worldtest"
)

func preloading(t *testing.T, c embedded.Config) *embedded.Forwarder {
	t.Helper()
	f := embedded.New(c)
	t.Cleanup(f.Close)
	return f
}

// The preload follows the message in the body, a header gives its length, and both are signed. It is read anew for
// every delivery.
func TestDeliveryWithAPreload(t *testing.T) {
	t.Parallel()
	app := newStubApp(t, acknowledge)
	key := []byte("a key of at least 16")
	var asked []world.Delivery
	f := preloading(t, embedded.Config{
		SigningKeys: [][]byte{key}, Clock: worldtest.StoppedClock(time.UnixMilli(1700000000123)),
		Preload: func(_ context.Context, d world.Delivery) ([]byte, world.LogSeen) {
			asked = append(asked, d)
			return append([]byte("log"), byte('0'+len(asked))), world.LogSeen{Events: int64(len(asked)), HooksOnly: true}
		},
	})
	d := deliveryTo(app.URL)
	d.Kind, d.TakesPreload, d.RunID = world.KindFlow, true, "wrun_1"
	d.Headers = map[string]string{"x-world-redis-attached": "1"}
	for i := range 2 {
		out := f.Deliver(t.Context(), d)
		require.Equal(t, world.Outcome{Verdict: world.Done, Status: 200, Sent: true, Seen: world.LogSeen{Events: int64(i + 1), HooksOnly: true}}, out)
	}
	require.Equal(t, []world.Delivery{d, d}, asked)
	got := app.got()
	require.Equal(t, "\xa0log1", string(got[0].body))
	require.Equal(t, "\xa0log2", string(got[1].body))
	require.Equal(t, []string{"4"}, got[0].header.Values("X-World-Redis-Attached"))
	part := regexp.MustCompile(`n=(\w+),v1=(\w+)$`).FindStringSubmatch(got[0].header.Get("X-World-Signature"))
	require.NotNil(t, part)
	hash := sha256.Sum256(got[0].body)
	lines := []string{
		"v1", "1700000000123", part[1], "flow", "msg_1", d.QueueName, "3", "application/cbor", hex.EncodeToString(hash[:]), "4",
	}
	require.Equal(t, signatureOf(key, lines...), part[2])
}

// A delivery that cannot have a preload, or has none, is sent without; and so is one whose preload takes too long.
func TestDeliveriesWithoutAPreload(t *testing.T) {
	t.Parallel()
	plain := deliveryTo("")
	plain.Kind, plain.TakesPreload = world.KindFlow, true
	notAsked, inJSON := plain, plain
	notAsked.TakesPreload = false
	inJSON.ContentType = "application/json"
	something := func(context.Context, world.Delivery) ([]byte, world.LogSeen) { return []byte{1}, world.LogSeen{} }
	for name, c := range map[string]struct {
		d       world.Delivery
		preload func(context.Context, world.Delivery) ([]byte, world.LogSeen)
	}{
		"the app does not take it": {notAsked, something},
		"the message is JSON":      {inJSON, something},
		"there is nothing":         {plain, func(context.Context, world.Delivery) ([]byte, world.LogSeen) { return nil, world.LogSeen{} }},
		"nobody to ask":            {plain, nil},
		"Redis hangs": {plain, func(ctx context.Context, _ world.Delivery) ([]byte, world.LogSeen) {
			<-ctx.Done()
			return nil, world.LogSeen{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := newStubApp(t, acknowledge)
			c.d.BaseURL = app.URL
			require.Equal(t, world.Done, preloading(t, embedded.Config{Preload: c.preload}).Deliver(t.Context(), c.d).Verdict)
			require.Equal(t, []byte{0xa0}, app.got()[0].body)
			require.NotContains(t, app.got()[0].header, "X-World-Redis-Attached")
		})
	}
}
