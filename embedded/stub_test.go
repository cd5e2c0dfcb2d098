package embedded_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stubApp is an app's server: it answers as scripted and records its requests.
type stubApp struct {
	*httptest.Server
	mu       sync.Mutex
	requests []recorded
}

type recorded struct {
	method, path string
	header       http.Header
	body         []byte
}

func newStubApp(t *testing.T, answer http.HandlerFunc) *stubApp {
	t.Helper()
	a := &stubApp{}
	a.Server = httptest.NewServer(a.recording(answer))
	t.Cleanup(a.Close)
	return a
}

func (a *stubApp) recording(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		a.mu.Lock()
		a.requests = append(a.requests, recorded{r.Method, r.URL.Path, r.Header.Clone(), body})
		a.mu.Unlock()
		answer(w, r)
	}
}

func (a *stubApp) got() []recorded {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]recorded(nil), a.requests...)
}

func newForwarder(t *testing.T) *embedded.Forwarder {
	t.Helper()
	f := embedded.New(embedded.Config{})
	t.Cleanup(f.Close)
	return f
}

func acknowledge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`)
}

func deliveryTo(baseURL string) world.Delivery {
	return world.Delivery{
		MessageID: "msg_1", Attempt: 3, BaseURL: baseURL, Kind: world.KindStep,
		Message: world.Message{QueueName: "__wkf_step_step//./a//b", Body: []byte{0xa0}, ContentType: "application/cbor"},
	}
}
