package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redistest"
)

// countingApp answers immediately and counts the due messages; it records for each new message how many due ones came
// before.
type countingApp struct {
	*httptest.Server
	due    atomic.Int64
	first  atomic.Int64 // when the first one came, Unix ms
	twice  atomic.Int64
	seen   sync.Map
	behind sync.Map // number of a new message -> due ones before it
}

func newCountingApp(t *testing.T) *countingApp {
	t.Helper()
	a := &countingApp{}
	name := regexp.MustCompile(`wrun_(due|new)_(\d+)`)
	a.Server = httptest.NewServer(healthy(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		found := name.FindStringSubmatch(string(body))
		if _, again := a.seen.LoadOrStore(found[0], true); again {
			a.twice.Add(1)
		}
		if found[1] == "new" {
			a.behind.Store(found[2], a.due.Load())
		} else {
			a.first.CompareAndSwap(0, time.Now().UnixMilli())
			a.due.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(a.Close)
	return a
}

// BR-17: ten thousand messages are due in one second, on two replicas, and twenty callers start runs meanwhile. All are
// delivered once, and no new run waits for more than a fraction of the due messages.
func TestBR17TenThousandAreDueAtOnce(t *testing.T) {
	t.Parallel()
	const due, interactive = 10_000, 20
	a := newCountingApp(t)
	s := redistest.Start(t)
	client := redistest.Client(t, s.Addr)
	environ := []string{"WORKFLOW_REDIS_URL=redis://" + s.Addr, "WORKFLOW_BASE_URL=" + a.URL}
	replicas := []*process{startProcess(t, environ...), startProcess(t, environ...)}

	dueAt := time.Now().Add(20 * time.Second)
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	defer transport.CloseIdleConnections()
	enqueue := func(name string, i int, delay time.Duration) error {
		body := fmt.Sprintf(`{"queueName":"__wkf_workflow_w","message":{"runId":"wrun_%s_%d","n":1},"delaySeconds":%.3f}`, name, i, delay.Seconds())
		req, err := http.NewRequest(http.MethodPost, replicas[i%2].base+"/v1/queue", strings.NewReader(body)) //nolint:noctx // a test
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%d %s", res.StatusCode, text)
		}
		return err
	}
	var callers sync.WaitGroup
	var failed atomic.Value
	for c := range 8 {
		callers.Go(func() {
			for i := c; i < due; i += 8 {
				if err := enqueue("due", i, max(0, time.Until(dueAt))); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	callers.Wait()
	require.Nil(t, failed.Load())
	t.Logf("enqueued %s before they are due", time.Until(dueAt).Round(time.Millisecond))

	require.Eventually(t, func() bool { return a.due.Load() > 0 }, time.Minute, 5*time.Millisecond)
	cpu, begin := redisCPU(t, s), time.Now()
	before := make([]int64, interactive)
	for i := range interactive {
		require.Eventually(t, func() bool { return a.due.Load() >= int64(200*(i+1)) }, time.Minute, time.Millisecond)
		require.NoError(t, enqueue("new", i, 0))
		before[i] = a.due.Load()
	}
	require.Eventually(t, func() bool { return a.due.Load() == due }, 2*time.Minute, 5*time.Millisecond)
	took := time.Since(begin)
	t.Logf("%d delivered in %s; Redis used %.0f %% of a core", due, took.Round(time.Millisecond), 100*(redisCPU(t, s)-cpu)/took.Seconds())
	require.Eventually(t, func() bool { return len(leftOfMessages(t, client, "workflow:")) == 0 }, time.Minute, 50*time.Millisecond)
	require.Zero(t, a.twice.Load())
	most := int64(0)
	for i := range interactive {
		at, ok := a.behind.Load(strconv.Itoa(i))
		require.True(t, ok)
		most = max(most, at.(int64)-before[i])
	}
	t.Logf("a new message had %d due ones before it at most", most)
	// 256 in the list, and 100 slots with up to 8 claimed in advance, on each replica; and those that are added
	// meanwhile.
	require.LessOrEqual(t, most, int64(due/10))
}

// redisCPU returns the CPU time that Redis has used, in seconds.
func redisCPU(t *testing.T, s *redistest.Server) float64 {
	t.Helper()
	info := redistest.Client(t, s.Addr).Info(context.Background(), "cpu").Val()
	total := 0.0
	for _, field := range regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`).FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(field[1], 64)
		require.NoError(t, err)
		total += seconds
	}
	return total
}
