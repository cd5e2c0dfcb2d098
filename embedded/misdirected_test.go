package embedded_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// A delivery says for which deployment it is. If an app of another one refuses it, it is tried once more on a new
// connection, and then it counts as not sent.
func TestAnotherDeploymentRefusesADelivery(t *testing.T) {
	t.Parallel()
	misdirect := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-World-Redis-Client", "1")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = io.WriteString(w, `{"error":"the delivery is for another one","deployment":"shop"}`)
	}
	from := make(chan string, 4)
	app := newStubApp(t, func(w http.ResponseWriter, r *http.Request) {
		from <- r.RemoteAddr
		misdirect(w)
	})
	d := deliveryTo(app.URL)
	d.Target = "café 100%"
	f := newForwarder(t)
	out := f.Deliver(t.Context(), d)
	require.Contains(t, out.Reason, `an app of deployment "shop" answers there: the delivery is for another one`)
	out.Reason = ""
	require.Equal(t, world.Outcome{Verdict: world.Unreachable, Status: 421, Misdirected: true}, out)
	got := app.got()
	require.Len(t, got, 2)
	one, other := <-from, <-from
	require.NotEqual(t, one, other, "a balancer of connections would lead an old one to the same process")
	for _, request := range got {
		require.Equal(t, "caf%C3%A9 100%25", request.header.Get("X-World-Redis-Deployment"))
		require.Empty(t, request.header.Get("X-World-Redis-Workflow"))
	}

	d.NewConnection = true
	for range 2 {
		require.True(t, f.Deliver(t.Context(), d).Misdirected)
	}
	one, other = <-from, <-from
	require.NotEqual(t, one, other, "no connection is kept")
	require.Len(t, app.got(), 4)

	var tries atomic.Int32
	second := newStubApp(t, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			misdirect(w)
			return
		}
		acknowledge(w, r)
	})
	d = deliveryTo(second.URL)
	d.Target, d.HasWorkflow = "dpl_1", true
	require.Equal(t, world.Outcome{Verdict: world.Done, Status: 200, Sent: true}, f.Deliver(t.Context(), d))
	require.Equal(t, "registered", second.got()[1].header.Get("X-World-Redis-Workflow"))

	plain := newStubApp(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMisdirectedRequest) })
	d = deliveryTo(plain.URL)
	out = f.Deliver(t.Context(), d)
	require.Equal(t, world.Failed, out.Verdict, "the answer is not the client's")
	require.Len(t, plain.got(), 1)
	require.Empty(t, plain.got()[0].header.Get("X-World-Redis-Deployment"), "no app has registered the address")
}
